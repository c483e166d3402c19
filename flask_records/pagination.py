"""Pages of records."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from .settings import COUNT, FLAG, read_settings
from .typing import Record

if t.TYPE_CHECKING:
    from typing_extensions import TypeVar

    R = TypeVar("R", default=Record)
else:
    R = t.TypeVar("R")


@dataclass(frozen=True)
class Pagination:
    """The page sizes of a service. See sections 2.4 and 4.3.1 of the specification."""

    default: int | None = None
    """The page size if the query names none. ``None`` for no pages."""

    max: int | None = None
    """The upper bound of the page size. It applies without a default, too."""

    total: bool = True
    """``False`` for pages that do not count the records, unless ``$limit`` is 0."""

    @classmethod
    def of(cls, value: Mapping[str, t.Any] | None) -> Pagination:
        """Return the pagination of an option, ``None`` for no pages."""
        checks = {"default": COUNT, "max": COUNT, "total": FLAG}
        example = {"default": 10, "max": 50}
        return cls(**read_settings("paginate", value, checks, example=example))

    @property
    def is_on(self) -> bool:
        """``True`` if find returns pages."""
        return self.default is not None

    def limit(self, requested: int | None) -> int | None:
        """Return the number of records that a ``$limit`` gets, ``None`` for all."""
        size = self.default if requested is None else requested

        if self.max is None:
            return size

        return self.max if size is None else min(size, self.max)


@dataclass(frozen=True)
class Page(t.Generic[R]):
    """A page of records. See section 2.3 of the specification. ``Page[Model]`` in
    ``schemas`` is one of records that fit a model.
    """

    total: int | None
    """The number of records that match the query, ``None`` if they are not counted."""

    limit: int
    """The maximum number of records on this page."""

    skip: int
    """The number of records before this page."""

    data: list[R]
    """The records."""

    def to_dict(self) -> dict[str, t.Any]:
        """Return the page in its form on the wire."""
        page = dict(vars(self))

        if self.total is None:
            del page["total"]

        return page


def with_records(result: t.Any, change: Callable[[Record], Record]) -> t.Any:
    """Return a record, a list, a page, or anything else, with each record changed."""
    if isinstance(result, Page):
        return replace(result, data=with_records(result.data, change))

    if isinstance(result, list):
        return [with_records(record, change) for record in result]

    return change(result) if isinstance(result, dict) else result
