"""Calls of a service in the name of the caller of another call."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..context import HookContext

if t.TYPE_CHECKING:
    from ..context import Params
    from ..pagination import Page
    from ..typing import Id, Record
    from .service import Service


@dataclass(frozen=True)
class Caller:
    """The methods of a service as a caller may use them. Access, limits and rules are
    those of the caller, and results have what the caller may see.
    """

    service: Service
    """The service."""

    params: Params
    """The params of a call of the caller. Its query, route and extra do not count."""

    paginate: bool = True
    """``True`` for pages if the service has pages, ``False`` for a list."""

    is_counted: bool = True
    """``False`` for parts of a call, which no limit counts."""

    def find(self, query: Record | None = None) -> list[Record] | Page:
        """Return the records that match a query, or a page of them.

        :raises RecordsError: The caller may not, or the query is not understood.
        """
        return t.cast("list[Record] | Page", self.call("find", query))

    def get(self, id: Id, query: Record | None = None) -> Record:
        """Return one record.

        :raises RecordsError: The caller may not, or there is no such record.
        """
        return t.cast("Record", self.call("get", query, id))

    def create(self, data: Record | list[Record], query: Record | None = None) -> t.Any:
        """Create a record from the data, or a list of records from a list.

        :raises RecordsError: The caller may not, or the data does not fit.
        """
        return self.call("create", query, None, data)

    def update(self, id: Id, data: Record, query: Record | None = None) -> Record:
        """Replace a record by the data.

        :raises RecordsError: The caller may not, or the data does not fit.
        """
        return t.cast("Record", self.call("update", query, id, data))

    def patch(self, id: Id, data: Record, query: Record | None = None) -> t.Any:
        """Merge the data into a record, or into all that match if the id is ``None``.

        :raises RecordsError: The caller may not, or the data does not fit.
        """
        return self.call("patch", query, id, data)

    def remove(self, id: Id, query: Record | None = None) -> t.Any:
        """Remove a record, or all that match the query if the id is ``None``.

        :raises RecordsError: The caller may not, or there is no such record.
        """
        return self.call("remove", query, id)

    def call(
        self,
        method: str,
        query: Record | None = None,
        id: Id = None,
        data: t.Any = None,
    ) -> t.Any:
        """Return the result of any method, as the caller sees it.

        :param method: The name of one of the six or of a custom method.
        :raises RecordsError: The caller may not, or the call has failed.
        """
        return self.service.result_of(self.run(method, query, id, data))

    def run(
        self,
        method: str,
        query: Record | None = None,
        id: Id = None,
        data: t.Any = None,
    ) -> HookContext:
        """Return the context of a call of any method.

        :raises RecordsError: The caller may not, or the call has failed.
        """
        params = replace(
            self.params, query=query or {}, route={}, extra={}, paginate=self.paginate
        )
        context = HookContext(self.service, method, params, id, data)
        self.service.check_access(context, is_counted=self.is_counted)
        return self.service.call(context)
