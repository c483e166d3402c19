"""What find gives: the pages, and the results without what is not to be seen."""

from __future__ import annotations

import typing as t
from collections.abc import Collection
from collections.abc import Mapping
from dataclasses import dataclass

from .typing import Record


@dataclass(frozen=True)
class Pagination:
    """The page size of a service. See sections 2.4 and 4.3.1 of the specification."""

    default: int | None = None
    """The size of a page where the query names none, and whether there are pages."""

    max: int | None = None
    """The upper bound of the size. It holds without a default, too."""

    @classmethod
    def of(cls, value: Mapping[str, int] | Pagination | None) -> Pagination:
        """Return the pagination that a service was given.

        :param value: A mapping with ``default`` and ``max``, or nothing.
        :raises ValueError: The mapping has something else.
        """
        if isinstance(value, Pagination):
            return value

        value = {} if value is None else value

        for name, size in value.items():
            if name not in ("default", "max") or not _is_size(size):
                raise ValueError(
                    "'paginate' takes 'default' and 'max', both whole numbers from 1,"
                    f" not '{name}': {size!r}."
                )

        return cls(**value)

    @property
    def is_on(self) -> bool:
        """Whether find gives a page object."""
        return self.default is not None

    def limit(self, asked: int | None) -> int | None:
        """Return how many records find gives at most, or ``None`` for all.

        :param asked: The ``$limit`` of the query.
        """
        size = self.default if asked is None else asked

        if self.max is None:
            return size

        return self.max if size is None else min(size, self.max)


@dataclass(frozen=True)
class Page:
    """A page of records. See section 2.3 of the specification."""

    total: int
    """How many records match the query."""

    limit: int
    """How many records this page has at most."""

    skip: int
    """How many records come before this page."""

    data: list[Record]
    """The records."""

    def to_dict(self) -> dict[str, t.Any]:
        """Return the page as it goes over the wire."""
        return {
            "total": self.total,
            "limit": self.limit,
            "skip": self.skip,
            "data": self.data,
        }


def _is_size(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def without(result: t.Any, fields: Collection[str]) -> t.Any:
    """Return a result without some fields of its records.

    :param result: A record, a list of records, a page, or anything else.
    :param fields: The names of the fields.
    """
    if isinstance(result, Page):
        data = [without(record, fields) for record in result.data]
        return Page(result.total, result.limit, result.skip, data)

    if isinstance(result, list):
        return [without(record, fields) for record in result]

    if isinstance(result, dict) and any(name in result for name in fields):
        return {name: value for name, value in result.items() if name not in fields}

    return result
