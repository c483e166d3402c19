"""Calls of a service, as data."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from functools import partial
from urllib.parse import quote

from .values import Form
from .values import read

R = t.TypeVar("R")
T = t.TypeVar("T")

Query: t.TypeAlias = "Mapping[str, object] | None"
Id: t.TypeAlias = "int | str"


@dataclass(frozen=True)
class Page(t.Generic[R]):
    """Some of the records that match a query."""

    total: int
    """The number of all records that match."""
    limit: int
    """The number of records that a page may have."""
    skip: int
    """The number of records before this page."""
    data: list[R]
    """The records."""


@dataclass(frozen=True)
class Call(t.Generic[T]):
    """One use of a method."""

    verb: str
    path: str
    read: Callable[[t.Any], T]
    """Makes the result of the JSON of the answer."""
    query: Query = None
    data: object = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_login: bool = False

    @property
    def is_safe(self) -> bool:
        """``True`` if it may be made twice."""
        return self.verb == "GET" or self.is_login


class Calls(t.Generic[R]):
    """Makes the calls of a service.

    :param path: The path of the service, encoded.
    :param form: The form of its records.
    """

    def __init__(self, path: str, form: Form) -> None:
        self.path = path
        self._form = form

    def find(self, query: Query) -> Call[Page[R]]:
        """Return a call for a page."""
        return Call("GET", self.path, self._page, query)

    def find_list(self, query: Query) -> Call[list[R]]:
        """Return a call for all records that match."""
        return Call("GET", self.path, self._records, query)

    def find_any(self, query: Query, form: Form) -> Call[T]:
        """Return a call for a result that is neither a list of records nor a page.

        :param form: The form of the result.
        """
        return Call("GET", self.path, partial(read, form=form), query)

    def get(self, id: object, query: Query) -> Call[R]:
        """Return a call for a record."""
        return Call("GET", self._of(id), self.record, query)

    def create(self, data: object, query: Query) -> Call[R]:
        """Return a call that creates a record."""
        return Call("POST", self.path, self.record, query, data)

    def create_many(self, data: object, query: Query) -> Call[list[R]]:
        """Return a call that creates records."""
        return Call("POST", self.path, self._records, query, data)

    def update(self, id: object, data: object, query: Query) -> Call[R]:
        """Return a call that replaces a record."""
        return Call("PUT", self._of(id), self.record, query, data)

    def patch(self, id: object, data: object, query: Query) -> Call[R]:
        """Return a call that changes a record."""
        return Call("PATCH", self._of(id), self.record, query, data)

    def patch_many(self, data: object, query: Query) -> Call[list[R]]:
        """Return a call that changes all records that match."""
        return Call("PATCH", self.path, self._records, query, data)

    def remove(self, id: object, query: Query) -> Call[R]:
        """Return a call that removes a record."""
        return Call("DELETE", self._of(id), self.record, query)

    def remove_many(self, query: Query) -> Call[list[R]]:
        """Return a call that removes all records that match."""
        return Call("DELETE", self.path, self._records, query)

    def many_any(self, verb: str, data: object, query: Query, form: Form) -> Call[T]:
        """Return a call on many records for a result that is no list of records.

        :param form: The form of the result.
        """
        return Call(verb, self.path, partial(read, form=form), query, data)

    def custom(self, method: str, data: object, query: Query, form: Form) -> Call[T]:
        """Return a call of a custom method.

        :param form: The form of the result.
        """
        headers = {"X-Service-Method": method}
        reader = partial(read, form=form)
        return Call("POST", self.path, reader, query, data, headers)

    def record(self, value: t.Any) -> R:
        """Return a record of JSON."""
        return t.cast(R, read(value, self._form))

    def _records(self, value: t.Any) -> list[R]:
        return [self.record(each) for each in value]

    def _page(self, value: t.Any) -> Page[R]:
        counts = (value["total"], value["limit"], value["skip"])
        return Page(*counts, self._records(value["data"]))

    def _of(self, id: object) -> str:
        text = str(id)

        # Without an identifier, the call would be one on many records.
        if id is None or not text:
            raise ValueError("The identifier of a record is missing.")

        return f"{self.path}/{quote(text, safe='')}"


def following(query: Mapping[str, object], page: Page[t.Any]) -> Query:
    """Return the query of the next page, or ``None`` after the last one."""
    skip = page.skip + len(page.data)
    has_more = page.data and skip < page.total
    return {**query, "$skip": skip} if has_more else None
