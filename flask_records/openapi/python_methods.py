"""The methods of services in modules of Python."""

from __future__ import annotations

import keyword
import re
import typing as t

from .python_types import quoted

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping

    from ..service import Service
    from .python_service_types import Types

NO_WORD = re.compile(r"\W+")

RESERVED: t.Final = frozenset(
    {
        *("all", "on", "create_many", "patch_many", "remove_many"),
        *("bool", "bytes", "dict", "dt", "float", "int", "list", "str", "t"),
    }
)
"""The names that no custom method has in Python."""

END: t.Final = "Callable[[], None]"


class Kind(t.NamedTuple):
    """A kind of programs that call services."""

    prefix: str
    """The beginning of names of classes."""
    base: str
    """The beginning of the names of their bases."""
    iterator: str
    begin: str
    """The beginning of methods that call."""
    wait: str
    """The beginning of calls."""


KINDS: t.Final = (
    Kind("", "Thread", "Iterator", "def", ""),
    Kind("Async", "Loop", "AsyncIterator", "async def", "await "),
)


class Method(t.NamedTuple):
    """A method of a class that calls a service."""

    name: str
    parameters: str
    result: str
    call: str
    """The expression that makes the call."""
    doc: str


def methods_of(service: Service, types: Types) -> Iterator[Method]:
    """Yield the methods of the class of a service."""
    for name in service.methods:
        makers = MAKERS.get(name, ())
        methods = [maker(types) for maker in makers]
        yield from methods or [_custom(name, types)]

        if name in MANY and name in types.multi:
            yield MANY[name](types)


def class_of(kind: Kind, name: str, service: Service, types: Types) -> str:
    """Return the class of a service for a kind of programs."""
    base = f"{kind.base}Service[{types.record}]"
    lines = [f"class {kind.prefix}{name}Service({base}):"]
    lines.append(f'    """The service at {quoted(service.path)[1:-1]}."""')

    for method in methods_of(service, types):
        lines += [
            "",
            f"    {kind.begin} {method.name}(self, {method.parameters})"
            f" -> {method.result}:",
            f'        """{method.doc}"""',
            f"        return {kind.wait}self._run(self._calls.{method.call})",
        ]

    if "find" in service.methods and types.is_paged:
        lines += [
            "",
            f"    def all(self, query: {types.query} | None = None)"
            f" -> {kind.iterator}[{types.record}]:",
            '        """Return the records of all pages."""',
            "        return self._all(query)",
        ]

    return "\n".join([*lines, *_listening(service, types)])


def identifier(name: str, taken: Iterable[str]) -> str:
    """Return a name as one of Python.

    :param taken: The names that there are already.
    """
    word = NO_WORD.sub("_", name).strip("_") or "root"
    word = f"_{word}" if word[0].isdigit() else word

    while keyword.iskeyword(word) or word in taken:
        word += "_"

    return word


def _optional(types: Types) -> str:
    return f"query: {types.query} | None = None"


def _find(types: Types) -> Method:
    if types.found is not None:
        result, doc = types.found.type, "Return what matches."
        call = f"find_any(query, {types.found.form!r})"
    elif types.is_paged:
        result, doc = f"Page[{types.record}]", "Return a page of records."
        call = "find(query)"
    else:
        result, doc = f"list[{types.record}]", "Return records."
        call = "find_list(query)"

    return Method("find", _optional(types), result, call, doc)


def _get(types: Types) -> Method:
    parameters = f"id: {types.id}, {_optional(types)}"
    return Method("get", parameters, types.record, "get(id, query)", "Return a record.")


def _create(types: Types) -> Method:
    parameters = f"data: {types.bodies['create']}, {_optional(types)}"
    doc = "Create a record, and return it."
    return Method("create", parameters, types.record, "create(data, query)", doc)


def _changing(name: str, doc: str) -> Callable[[Types], Method]:
    def make(types: Types) -> Method:
        body = f"data: {types.bodies[name]}, {_optional(types)}"
        call = f"{name}(id, data, query)"
        return Method(name, f"id: {types.id}, {body}", types.record, call, doc)

    return make


def _remove(types: Types) -> Method:
    parameters = f"id: {types.id}, {_optional(types)}"
    doc = "Remove a record, and return it."
    return Method("remove", parameters, types.record, "remove(id, query)", doc)


def _create_many(types: Types) -> Method:
    parameters = f"data: list[{types.bodies['create']}], {_optional(types)}"
    result = f"list[{types.record}]"
    doc = "Create records, and return them."
    return Method("create_many", parameters, result, "create_many(data, query)", doc)


def _patch_many(types: Types) -> Method:
    parameters = f"data: {types.bodies['patch']}, query: {types.query}"
    doc = "Change all records that match, and return them."
    call = "patch_many(data, query)"

    if types.many is not None:
        call = f'many_any("PATCH", data, query, {types.many.form!r})'

    return Method("patch_many", parameters, _list(types), call, doc)


def _remove_many(types: Types) -> Method:
    doc = "Remove all records that match, and return them."
    call = "remove_many(query)"

    if types.many is not None:
        call = f'many_any("DELETE", None, query, {types.many.form!r})'

    return Method("remove_many", f"query: {types.query}", _list(types), call, doc)


def _list(types: Types) -> str:
    return f"list[{types.record}]" if types.many is None else types.many.type


def _custom(name: str, types: Types) -> Method:
    word = identifier(name, RESERVED)
    data, result = types.custom[name]
    call = f"custom({quoted(name)}, data, query, {result.form!r})"
    doc = "Return the result of a custom method."
    return Method(word, f"data: {data}, {_optional(types)}", result.type, call, doc)


MAKERS: t.Final[Mapping[str, tuple[Callable[[Types], Method], ...]]] = {
    "find": (_find,),
    "get": (_get,),
    "create": (_create,),
    "update": (_changing("update", "Replace a record, and return it."),),
    "patch": (_changing("patch", "Change a record, and return it."),),
    "remove": (_remove,),
}

MANY: t.Final[Mapping[str, Callable[[Types], Method]]] = {
    "create": _create_many,
    "patch": _patch_many,
    "remove": _remove_many,
}


def _listening(service: Service, types: Types) -> Iterator[str]:
    """Yield the lines of the method for events."""
    names: dict[str, list[str]] = {}

    for event, value in types.events.items():
        names.setdefault(value.type if value else types.record, []).append(event)

    if not names or "<" in service.path:
        return

    signatures = [
        f"event: t.Literal[{', '.join(map(quoted, events))}],"
        f" function: Callable[[{type_}], object]"
        for type_, events in names.items()
    ]
    last = signatures[0]

    if len(signatures) > 1:
        last = "event: str, function: Callable[..., object]"

        for each in signatures:
            yield "\n    @t.overload"
            yield f"    def on(self, {each}) -> {END}: ..."

    forms = {event: value.form for event, value in types.events.items() if value}
    yield f"\n    def on(self, {last}) -> {END}:"
    yield '        """Call a function at an event, until the result is called."""'
    yield f"        return self._on(event, function, {forms!r})"
