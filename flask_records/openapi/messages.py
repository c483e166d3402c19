"""The calls and events of a service, as AsyncAPI describes them."""

from __future__ import annotations

import typing as t

from ..http.placeholders import fill_placeholders
from ..http.placeholders import placeholders_of
from ..http.placeholders import rule_of
from .answers import reference
from .calls import Calls
from .events import events_of
from .operations import described

if t.TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from ..service.schemas import Schema
    from .calls import Call
    from .rights import DescribedService

    Named: t.TypeAlias = Iterator[tuple[str, dict[str, t.Any]]]

NULL: t.Final = {"type": "null"}

OBJECT: t.Final = {"type": "object"}

ANSWER: t.Final = "Answer"
"""The end of the names of answers."""

ERROR: t.Final = "error"
"""The name of the answer of a call that has failed."""

OFFSET: t.Final[Schema] = {
    "type": "string",
    "description": "The place in the log of events.",
}

CORRELATION: t.Final = {
    "headers": {
        "type": "object",
        "properties": {"id": {"type": "integer", "minimum": 0}},
        "required": ["id"],
    },
    "correlationId": {
        "description": "The id of the packet, which that of the answer has, too.",
        "location": "$message.header#/id",
    },
}
"""The part of calls and answers that connects them."""


class Messages:
    """Describes the messages of one service.

    :param described: The service, as it is shown to the caller.
    :param security: The ways to log in, for calls that need a login.
    :param has_offsets: Events tell their place in the log of events.
    """

    def __init__(
        self,
        described: DescribedService,
        *,
        security: Sequence[Schema] = (),
        has_offsets: bool,
    ) -> None:
        self._service, self._schemas, _ = described
        self._calls = Calls(self._service, self._schemas)
        self._all_calls = [*self._calls.of_many(), *self._calls.of_one()]
        self._security = list(security)
        self._events = list(events_of(described))
        self._has_offsets = has_offsets

    @property
    def name(self) -> str:
        """The name of the channel."""
        return self._calls.name

    def schemas(self) -> Iterator[tuple[str, Schema]]:
        """Yield the schemas that messages refer to, with their names."""
        yield from self._calls.schemas()

        if any(call.has_conditions for call in self._all_calls):
            yield f"{self.name}Query", self._schemas.query

    def channel(self) -> dict[str, t.Any]:
        """Return the channel, which stands for the service."""
        path = self._service.path
        names = [name for name, _ in self.messages()]
        answers = [ERROR] if self._all_calls else []
        rule = rule_of(path).lstrip("/")
        parameters: dict[str, t.Any] = {name: {} for name in placeholders_of(rule)}
        return {
            "address": fill_placeholders(rule, "{{{}}}".format),
            "title": path,
            **described(self._calls.description),
            "messages": {
                name: reference("messages", name) for name in [*names, *answers]
            },
            **({"parameters": parameters} if parameters else {}),
            "tags": [{"name": path}],
            "bindings": reference("channelBindings", "socketio"),
        }

    def messages(self) -> Named:
        """Yield the messages, with their names."""
        for call in self._all_calls:
            yield call.id, self._message(call)
            yield f"{call.id}{ANSWER}", _answer(call)

        for event in self._events:
            items = [{"const": event.name}, event.record]
            places = [OFFSET] if self._has_offsets else []
            yield (
                event.id,
                {
                    "name": event.name,
                    "summary": event.summary,
                    "payload": list_of([*items, *places], optional=len(places)),
                },
            )

    def operations(self) -> Named:
        """Yield the operations: calls that the server receives, and events that it
        sends.
        """
        channel = {"$ref": f"#/channels/{self.name}"}

        for call in self._all_calls:
            answers = [self._own(f"{call.id}{ANSWER}"), self._own(ERROR)]
            is_open = call.is_public or not self._security
            security = {} if is_open else {"security": self._security}
            yield (
                call.id,
                {
                    "action": "receive",
                    "channel": channel,
                    "summary": call.summary,
                    **described(call.description),
                    **security,
                    "tags": [{"name": self._service.path}],
                    "messages": [self._own(call.id)],
                    "reply": {"channel": channel, "messages": answers},
                },
            )

        for event in self._events:
            yield (
                event.id,
                {
                    "action": "send",
                    "channel": channel,
                    "summary": event.summary,
                    "tags": [{"name": self._service.path}],
                    "messages": [self._own(event.id)],
                },
            )

    def _message(self, call: Call) -> dict[str, t.Any]:
        path = self._service.path
        is_open = bool(placeholders_of(rule_of(path)))
        place = {"type": "string"} if is_open else {"const": path}
        ids: list[Schema] = []

        if call.has_id:
            ids = [self._calls.id]
        elif call.method in ("patch", "remove"):
            ids = [NULL]

        bodies = [] if call.body is None else [call.body]
        query = {"anyOf": [self._query(call), NULL]}
        arguments = [{"const": call.method}, place, *ids, *bodies, query]
        return {
            "name": call.method,
            "summary": call.summary,
            **CORRELATION,
            "payload": list_of(arguments, optional=1),
        }

    def _query(self, call: Call) -> Schema:
        if call.has_conditions:
            return reference("schemas", f"{self.name}Query")

        return {**OBJECT, "properties": call.query} if call.query else OBJECT

    def _own(self, name: str) -> dict[str, str]:
        return {"$ref": f"#/channels/{self.name}/messages/{name}"}


def list_of(items: Sequence[Schema], *, optional: int = 0) -> Schema:
    """Return the schema of a list, in the words of draft 7, which AsyncAPI has.

    :param optional: The number of items at its end that may be left out.
    """
    number = len(items)
    bounds = {"minItems": number - optional, "maxItems": number}
    return {"type": "array", "items": items, **bounds}


def _answer(call: Call) -> dict[str, t.Any]:
    return {
        "summary": f"The answer to {call.id}",
        **CORRELATION,
        "payload": list_of([NULL, call.result]),
    }
