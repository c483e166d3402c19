"""Several calls of a client in one."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..errors import BadRequest
from ..globals import current_records
from ..service.schemas import OBJECT
from ..service.schemas import Schemas
from ..settings import is_positive
from .error_handler import body_of
from .named_calls import context_of
from .named_calls import run

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import Params
    from ..service.schemas import Schema
    from ..typing import Record

MAX_CALLS: t.Final = 100
"""The number of calls in a batch, unless the service has its own."""


CALL: t.Final[Schema] = {
    "type": "array",
    "items": {},
    "minItems": 1,
    "description": "A method, the path of a service, and the arguments of the method.",
}
"""The schema of a call."""

RESULTS: t.Final[Sequence[Schema]] = [
    {
        "type": "object",
        "properties": {"status": {"const": "fulfilled"}, "value": {}},
        "required": ["status", "value"],
    },
    {
        "type": "object",
        "properties": {"status": {"const": "rejected"}, "reason": {"type": "object"}},
        "required": ["status", "reason"],
    },
]
"""The schemas of the results of a call."""


class BatchService:
    """A service whose create makes several calls of the client, and returns all their
    results, as the client of ``feathers-batch`` sends them: ``{"calls": [["find",
    "messages", {"$limit": 5}], ["get", "users", 1, {}]]}``.

    Each call is checked, limited and counted as if it had come alone. One that fails is
    undone, and the others are not. All are committed together.

    :param max_calls: The maximum number of calls in a batch.
    :raises ValueError: It is not a positive integer.
    """

    sends_events = False
    """No client gets an event with the results of another one."""

    def __init__(self, max_calls: int = MAX_CALLS) -> None:
        if not is_positive(max_calls):
            raise ValueError(
                f"'max_calls' must be a positive integer, not {max_calls!r}."
            )

        self._max_calls = max_calls

    def schemas_for(self, params: Params | None) -> Schemas:
        """Return the JSON Schemas of a batch."""
        calls = {"type": "array", "items": CALL, "maxItems": self._max_calls}
        batch = {
            "type": "object",
            "properties": {"calls": calls},
            "required": ["calls"],
        }
        results = {"type": "array", "items": {"anyOf": RESULTS}}
        return Schemas(
            results, OBJECT | batch, summaries={"create": "Make several calls"}
        )

    def create(self, data: t.Any, params: Params) -> list[Record]:
        """Return the results of the calls, in their order: ``fulfilled`` with a value,
        or ``rejected`` with a reason, which is the body of an error.

        :raises BadRequest: The data has no list of calls, or one with too many.
        """
        calls = data.get("calls") if isinstance(data, dict) else None

        if not isinstance(calls, list):
            raise BadRequest("The data needs a list of calls: {'calls': [...]}.")

        if len(calls) > self._max_calls:
            raise BadRequest(f"A batch has at most {self._max_calls} calls.")

        return [_settled(call, params) for call in calls]


def _settled(call: t.Any, params: Params) -> Record:
    """Return the result of a call, or its error."""
    try:
        value = _result(call, params)
    except Exception as error:
        visible = current_records.errors.report(error, "A call of a batch failed.")
        return {"status": "rejected", "reason": body_of(visible)}

    return {"status": "fulfilled", "value": value}


def _result(call: t.Any, params: Params) -> t.Any:
    if not isinstance(call, list) or not call or not isinstance(call[0], str):
        raise BadRequest("A call is a list: a method, a path and arguments.")

    # A connection limits the calls of its client.
    if params.connection is not None:
        params.connection.count_call()

    method, *message = call
    context = context_of(
        current_records,
        method,
        message,
        lambda query: replace(params, query=query, extra={}, paginate=True),
    )

    if isinstance(context.service.target, BatchService):
        raise BadRequest("A batch can't be a part of a batch.")

    return context.service.result_of(run(context))
