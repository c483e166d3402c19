"""Results, whole inside of a call, and cut for their viewer when they leave it."""

from __future__ import annotations

import asyncio
import dataclasses
import typing as t
from collections.abc import AsyncIterator, Iterator, Mapping
from copy import copy, deepcopy

from ..pagination import Page, with_records
from ..query.operators import SELECT
from ..query.syntax import names_listed
from ..typing import PLAIN_TYPES
from .globals import current_records
from .rights import NO_FIELDS, Rights

if t.TYPE_CHECKING:
    from collections.abc import Collection, Generator
    from collections.abc import Set as AbstractSet

    from ..typing import Record
    from .context import HookContext
    from .events import Event
    from .service import Service

USUAL: t.Final = frozenset({dict, list, str, type(None)})

NOBODY: t.Final = object()
"""Stands for a viewer who sees no field that a rule may hide."""

ANYBODY: t.Final = object()
"""Stands for any viewer: a login shows what its user may see before there is one."""

NOT_A_RECORD: t.Final = """\
{place} is an instance of '{type}': of a model, some of whose columns may be secret, a \
row of a statement or a named tuple. Return a record of its service, such as \
records['...'].get(id), or a dict, such as dict(row._mapping).\
"""


class PrivateRecord(dict[str, t.Any]):
    """A record with fields that not every client may see. It is a dict that knows its
    service, by which its fields are cut wherever it is in an answer or an event.

    ``record.copy()``, ``record | {...}`` and pickle keep that; ``{**record}`` and
    ``dict(record)`` are usual dicts, of which all fields are sent.

    :param unseen: The names of the fields that its viewer may not see, if known.
    :param rule_values: Values of hidden fields, by which rules decide who may see it.
    :param viewer: The user for whom it was read. A cache may hand it to another one,
        for whom the rules are asked anew.
    """

    __slots__ = ("rule_values", "service", "unseen", "viewer")

    def __init__(
        self,
        record: Mapping[str, t.Any],
        service: Service,
        unseen: frozenset[str] | None = None,
        rule_values: Mapping[str, t.Any] | None = None,
        viewer: t.Any = ANYBODY,
    ) -> None:
        super().__init__(record)
        self.service = service
        self.unseen = unseen
        self.rule_values = rule_values or {}
        self.viewer = viewer

    def recall_unseen(self, viewer: t.Any) -> frozenset[str] | None:
        """Return the names that a viewer may not see, ``None`` if not known."""
        is_known = self.viewer is ANYBODY or self.viewer is viewer
        return self.unseen if is_known and viewer is not NOBODY else None

    def cut_for(self, viewer: t.Any) -> Record:
        """Return the part that a viewer may see: a user, ``None``, or a constant."""
        unseen: Collection[str] | None = self.recall_unseen(viewer)

        if unseen is None:
            unseen = find_unseen(viewer, self.service, {**self, **self.rule_values})

        names = self.service.capabilities.hidden.union(unseen)
        return {name: value for name, value in self.items() if name not in names}

    def with_fields(self, record: Record) -> PrivateRecord:
        """Return another record that is cut alike."""
        state = self.unseen, self.rule_values, self.viewer
        return PrivateRecord(record, self.service, *state)

    def copy(self) -> PrivateRecord:
        """Return a copy that is cut alike."""
        return self.with_fields(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, t.Any]) -> PrivateRecord:
        return self.with_fields(deepcopy(dict(self), memo))

    def __or__(self, other: t.Any) -> t.Any:
        return self.with_fields({**self, **other})

    def __ror__(self, other: t.Any) -> t.Any:
        return self.with_fields({**other, **self})

    def __reduce__(self) -> tuple[t.Any, ...]:
        # A cache may hand it to another viewer, for whom the rules are asked anew.
        return _restored, (dict(self), self.service.path)


def _restored(record: Record, path: str) -> PrivateRecord:
    return PrivateRecord(record, current_records.services[path])


def find_unseen(viewer: t.Any, service: Service, record: Record) -> Collection[str]:
    """Return the names of the fields that rules hide from a viewer in a record."""
    rules = service.capabilities.field_rules.visible

    if viewer is NOBODY or not rules:
        return rules.keys()

    return Rights(service, [record]).find_hidden(viewer)[0]


def private(
    service: Service,
    result: t.Any,
    unseen: frozenset[str] | None = None,
    viewer: t.Any = ANYBODY,
) -> t.Any:
    """Return a result with a :class:`PrivateRecord` for each record if need be."""
    if not service.has_private_fields:
        return result

    def mark(record: Record) -> Record:
        if isinstance(record, PrivateRecord):
            return record

        return PrivateRecord(record, service, unseen, viewer=viewer)

    return with_records(result, mark)


def select(service: Service, context: HookContext, result: t.Any) -> t.Any:
    """Return a result with those fields of its service that ``$select`` names."""
    if not (unwanted := _find_unselected(service, context)):
        return result

    return with_records(result, lambda record: without(record, unwanted))


def cut_for_caller(service: Service, context: HookContext) -> t.Any:
    """Return the result of a client's call as the client gets it: without fields that
    are hidden, by a rule or for all, or that its ``$select`` does not name.
    """
    parts, viewer, result = service.capabilities, context.params.user, context.sent
    rules, unwanted = parts.field_rules.visible, NO_FIELDS

    # The adapter has selected no other field otherwise.
    if context.params._state.is_whole:
        unwanted = parts.hidden | _find_unselected(service, context)

    if not (unwanted or rules):
        return result

    if rules:
        result = _with_answers(service, context, result)

    def cut(record: Record) -> Record:
        if isinstance(record, PrivateRecord):
            record = record.cut_for(viewer)

        part: Record = without(record, unwanted)
        return part

    return with_records(result, cut)


def _with_answers(service: Service, context: HookContext, result: t.Any) -> t.Any:
    """Return a result whose records of a service know what the caller may not see, by
    one call of each rule.
    """
    # A usual record of a custom method has what the application put there.
    is_custom = context.method in service.custom_methods
    viewer = context.params.user
    pending: list[PrivateRecord] = []

    def ask(record: Record) -> Record:
        if not isinstance(record, PrivateRecord) and not is_custom:
            record = PrivateRecord(record, service)

        # Other services are asked by record, and known answers are not repeated.
        if (
            not isinstance(record, PrivateRecord)
            or record.service is not service
            or record.recall_unseen(viewer) is not None
        ):
            return record

        # A cache may hand the record to another viewer.
        pending.append(record.copy())
        return pending[-1]

    result = with_records(result, ask)

    if pending:
        rights = Rights(service, [{**each, **each.rule_values} for each in pending])
        answers = rights.find_hidden(viewer)

        for record, unseen in zip(pending, answers, strict=True):
            record.unseen, record.viewer = unseen, viewer

    return result


def event_records(service: Service, records: t.Any) -> t.Any:
    """Return copies of records for receivers of events: whole but for hidden fields and
    relationships, which show what the caller may see, and others may not.
    """
    parts = service.capabilities
    unsent = parts.hidden | parts.relationships

    def change(record: Record) -> Record:
        if isinstance(record, PrivateRecord) and record.service is not service:
            return record.copy()

        visible: Record = without(dict(record), unsent)

        if not service.has_rules:
            return visible

        hidden = {n: record[n] for n in service.rules.hidden_fields if n in record}
        rule_values = {**getattr(record, "rule_values", {}), **hidden}
        return PrivateRecord(visible, service, rule_values=rule_values)

    return with_records(records, change)


def open_event(event: Event) -> tuple[t.Any, Mapping[str, t.Any]]:
    """Return the record of an event as a dict, and the hidden values for rules."""
    record = event.record

    if not isinstance(record, PrivateRecord):
        return record, {}

    if record.service is not event.service:
        return record.cut_for(NOBODY), {}

    return dict(record), record.rule_values


def cut_throughout(value: t.Any, viewer: t.Any = NOBODY) -> t.Any:
    """Return a value with usual dicts in place of private records, at any depth, for
    what encodes it by other means than :func:`.dumps`.
    """
    if isinstance(value, PrivateRecord):
        value = value.cut_for(viewer)

    if isinstance(value, dict):
        return {name: cut_throughout(item, viewer) for name, item in value.items()}

    if isinstance(value, (list, tuple)):
        items = [cut_throughout(item, viewer) for item in value]
        return items if isinstance(value, list) else tuple(items)

    if hasattr(type(value), "model_copy"):
        fields = {**vars(value), **(value.model_extra or {})}
        return value.model_copy(update=cut_throughout(fields, viewer))

    if dataclasses.is_dataclass(type(value)):
        clone = copy(value)

        for field in dataclasses.fields(value):
            item = cut_throughout(getattr(value, field.name), viewer)
            # The dataclass may be frozen.
            object.__setattr__(clone, field.name, item)

        return clone

    return value


def records_of(result: t.Any, place: str) -> t.Any:
    """Return a result with a dict for each record of a class that :func:`as_record`
    knows.
    """
    if type(result) in PLAIN_TYPES or isinstance(result, dict):
        return result

    if isinstance(result, Page):
        return dataclasses.replace(result, data=records_of(result.data, place))

    if type(result) is list and {dict}.issuperset(map(type, result)):
        return result

    if isinstance(result, list) or type(result) is tuple:
        return [records_of(item, f"{place}[{i}]") for i, item in enumerate(result)]

    record = as_record(result, place)
    return result if record is None else record


def as_record(value: t.Any, place: str) -> Record | None:
    """Return a model of pydantic or a dataclass as a dict, ``None`` for other objects.

    :raises TypeError: It is an instance of a mapped class, a row or a named tuple.
    """
    class_ = type(value)

    if hasattr(class_, "__mapper__") or hasattr(class_, "_asdict"):
        raise TypeError(NOT_A_RECORD.format(place=place, type=class_.__name__))

    if hasattr(class_, "model_dump"):
        return t.cast("Record", cut_throughout(value).model_dump())

    if not dataclasses.is_dataclass(class_) or shows_itself(class_):
        return None

    names = [field.name for field in dataclasses.fields(class_)]
    return {name: getattr(value, name) for name in names if name[0] != "_"}


def shows_itself(class_: t.Any) -> bool:
    """Return ``True`` for a class of values whose text the application has defined."""
    return any("__str__" in vars(base) for base in class_.__mro__[:-1])


def _find_unselected(service: Service, context: HookContext) -> frozenset[str]:
    """Return the names of the service's fields that a query does not select."""
    scope = service.capabilities.scope_for(None)
    names = context.params.query.get(SELECT)

    if scope is None or names is None or context.method in service.custom_methods:
        return NO_FIELDS

    fields = scope.fields
    ids = {fields.id.name, *[each.name for each in fields.identifying]}
    all_names = fields.names.union(fields.options.extra)
    return all_names - ids.union(names_listed(SELECT, names))


def without(record: t.Any, names: AbstractSet[str]) -> t.Any:
    """Return a record of the same class without some fields, or anything else."""
    if not isinstance(record, dict) or names.isdisjoint(record):
        return record

    fields = {name: value for name, value in record.items() if name not in names}
    return record.with_fields(fields) if isinstance(record, PrivateRecord) else fields


def comes_in_pieces(result: t.Any) -> bool:
    """Return ``True`` for a generator or another iterator, asynchronous or not."""
    # The look at an abstract class takes longer.
    return type(result) not in USUAL and isinstance(result, (Iterator, AsyncIterator))


def draw(pieces: t.Any) -> Generator[t.Any, None, None]:
    """Yield the pieces of an iterator. An asynchronous one has one event loop."""
    if not isinstance(pieces, AsyncIterator):
        yield from pieces
        return

    with asyncio.Runner() as runner:
        try:
            while True:
                yield runner.run(_next(pieces))
        except StopAsyncIteration:
            pass
        finally:
            # Iterators other than generators have nothing to close.
            if close := getattr(pieces, "aclose", None):
                runner.run(close())


async def _next(pieces: AsyncIterator[t.Any]) -> t.Any:
    return await anext(pieces)
