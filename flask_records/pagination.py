"""Pages of records."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .settings import is_positive
from .typing import Record


@dataclass(frozen=True)
class Pagination:
    """The page sizes of a service. See sections 2.4 and 4.3.1 of the specification."""

    default: int | None = None
    """The page size if the query names none. ``None`` for no pages."""

    max: int | None = None
    """The upper bound of the page size. It applies without a default, too."""

    @classmethod
    def of(cls, value: Mapping[str, int] | Pagination | None) -> Pagination:
        """Return the pagination of a service's option.

        :param value: A mapping with ``default`` and ``max``, or ``None`` for no pages.
        :raises TypeError: The value is not a mapping.
        :raises ValueError: The mapping has another key, or a size is not valid.
        """
        if isinstance(value, Pagination):
            return value

        if value is None:
            return cls()

        if not isinstance(value, Mapping):
            size = value if is_positive(value) else 10
            raise TypeError(
                "'paginate' takes the sizes of a page:"
                f' paginate={{"default": {size}, "max": 50}}, not {value!r}.'
            )

        for name, size in value.items():
            if name not in ("default", "max") or not is_positive(size):
                raise ValueError(
                    "'paginate' takes 'default' and 'max', both whole numbers from 1,"
                    f" not '{name}': {size!r}."
                )

        return cls(**value)

    @property
    def is_on(self) -> bool:
        """``True`` if find returns pages."""
        return self.default is not None

    def limit(self, requested: int | None) -> int | None:
        """Return the maximum number of records that find returns, or ``None`` for all.

        :param requested: The ``$limit`` of the query.
        """
        size = self.default if requested is None else requested

        if self.max is None:
            return size

        return self.max if size is None else min(size, self.max)


@dataclass(frozen=True)
class Page:
    """A page of records. See section 2.3 of the specification."""

    total: int
    """The number of records that match the query."""

    limit: int
    """The maximum number of records on this page."""

    skip: int
    """The number of records before this page."""

    data: list[Record]
    """The records."""

    def to_dict(self) -> dict[str, t.Any]:
        """Return the page in its form on the wire."""
        return dict(vars(self))


def with_records(result: t.Any, change: Callable[[Record], Record]) -> t.Any:
    """Return a result with other records.

    :param result: A record, a list of records, a page, or anything else.
    :param change: Returns the record in place of another one.
    """
    if isinstance(result, Page):
        data = [with_records(record, change) for record in result.data]
        return Page(result.total, result.limit, result.skip, data)

    if isinstance(result, list):
        return [with_records(record, change) for record in result]

    return change(result) if isinstance(result, dict) else result
