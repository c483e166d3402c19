"""The methods of a service, as Python calls them."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from .context import Params

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..pagination import Page
    from ..typing import Id, Record
    from .context import AnyParams


class Methods:
    """The methods of a service. Each takes the params of the call last, or a mapping
    that is their query.
    """

    _call: Callable[..., t.Any]

    def find(
        self, params: AnyParams = None, *, lock: bool = False
    ) -> list[Record] | Page:
        """Return the records that match the query, or a page of them if the service
        has pages.

        :param lock: Let nobody else write the records until the commit.
        :raises BadRequest: The query names an unknown field or operator.
        """
        params = replace(Params.of(params), lock=True) if lock else params
        return t.cast("list[Record] | Page", self._call("find", params))

    def get(self, id: Id, params: AnyParams = None, *, lock: bool = False) -> Record:
        """Return one record.

        :param id: The value of its identifier field.
        :param lock: Let nobody else write the record until the commit.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        params = replace(Params.of(params), lock=True) if lock else params
        return t.cast("Record", self._call("get", params, id))

    def create(self, data: Record | list[Record], params: AnyParams = None) -> t.Any:
        """Create a record from the data, or a list of records from a list, and return
        it.

        :param data: The fields of the new record, or a list of such.
        :raises BadRequest: The data does not fit the fields.
        :raises Conflict: The data conflicts with an existing record.
        """
        return self._call("create", params, None, data)

    def update(self, id: Id, data: Record, params: AnyParams = None) -> Record:
        """Replace a record by the data, and return it.

        :param id: The value of its identifier field.
        :param data: All fields. Absent ones become null or their default.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        return t.cast("Record", self._call("update", params, id, data))

    def patch(self, id: Id, data: Record, params: AnyParams = None) -> t.Any:
        """Merge the data into a record, or into all that match the query if the id is
        ``None``, and return the result.

        :param id: The value of its identifier field, or ``None`` for many.
        :param data: The fields that change.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        return self._call("patch", params, id, data)

    def remove(self, id: Id, params: AnyParams = None) -> t.Any:
        """Remove a record, or all that match the query if the id is ``None``, and
        return what was removed.

        :param id: The value of its identifier field, or ``None`` for many.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        return self._call("remove", params, id)

    def custom(self, method: str, data: t.Any, params: AnyParams = None) -> t.Any:
        """Return the result of a custom method.

        :param method: The name of the method.
        :raises MethodNotAllowed: The service has no such method.
        """
        return self._call(method, params, None, data)


class BoundMethods(Methods):
    """The methods of a service whose calls a function makes.

    :param call: Makes a call, and returns its result.
    """

    def __init__(self, call: Callable[..., t.Any]) -> None:
        self._call = call
