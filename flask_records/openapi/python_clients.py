"""The classes of clients in modules of Python."""

from __future__ import annotations

import typing as t

from flask import current_app

from ..globals import current_records
from ..http.placeholders import fill_placeholders
from ..http.placeholders import placeholders_of
from ..http.placeholders import rule_of
from ..http.routes import current_routes
from .python_methods import identifier
from .python_types import quoted

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from collections.abc import Mapping

    from ..service import Service
    from .python_methods import Kind

TAKEN: t.Final = frozenset(
    {
        *("t", "token", "log_in", "log_out", "renew", "connect", "close"),
        *("on_connect", "on_end"),
        *("PREFIX", "LOGIN_PATH", "SOCKET_PATH"),
    }
)
"""The names that clients have for other things than services."""


def client_of(kind: Kind, services: Iterable[Service], names: Mapping[str, str]) -> str:
    """Return the class of clients for a kind of programs.

    :param services: The services that they call.
    :param names: The names of the records of these, by path.
    """
    records = current_records
    prefix = current_routes().mount.url_prefix
    settings = current_app.config.get("RECORDS_REALTIME") or {}
    logins = next(iter(records.authentications), None)
    constants = {
        "PREFIX": prefix,
        "LOGIN_PATH": logins or "authentication",
        "SOCKET_PATH": settings.get("path", "socket.io").strip("/"),
    }
    lines = [f"class {kind.prefix}Client({kind.base}Client):"]
    lines.append('    """A client of the application."""\n')
    lines += [f"    {name} = {quoted(value)}" for name, value in constants.items()]

    if logins is not None:
        lines += _log_in(kind, records.services[logins], names[logins])

    words = set(TAKEN)

    for service in services:
        path = fill_placeholders(rule_of(service.path), lambda name: "")
        word = identifier(path, words)
        words.add(word)
        lines += _access(word, service, f"{kind.prefix}{names[service.path]}Service")

    return "\n".join(lines)


def _access(word: str, service: Service, class_: str) -> Iterator[str]:
    """Yield the lines that give a service."""
    rule = rule_of(service.path).lstrip("/")
    arguments = placeholders_of(rule)
    form = f"FORMS[{quoted(service.path)}]"

    if not arguments:
        yield "\n    @property"
        yield f"    def {word}(self) -> {class_}:"
        yield f"        return {class_}(self, quote({quoted(rule)}), {form})"
        return

    listed = ", ".join([f"{each}: Id" for each in arguments])
    path = fill_placeholders(rule, "{{quote(str({}), safe='')}}".format)
    yield f"\n    def {word}(self, {listed}) -> {class_}:"
    yield f"        return {class_}(self, f{quoted(path)}, {form})"


def _log_in(kind: Kind, service: Service, name: str) -> Iterator[str]:
    """Yield the lines of the method that logs in."""
    variants = service.capabilities.schemas_for(None).create.get("anyOf", ())
    consts = [each["properties"]["strategy"]["const"] for each in variants]
    strategies = f"t.Literal[{', '.join(map(quoted, consts))}]" if consts else "str"
    yield f"\n    {kind.begin} log_in("
    yield f"        self, strategy: {strategies}, /, **credentials: t.Any"
    yield f"    ) -> {name}:"
    yield '        """Log in, and return the login."""'
    yield f"        login = {kind.wait}self._log_in(strategy, credentials)"
    yield f"        form = FORMS[{quoted(service.path)}]"
    yield f'        return t.cast("{name}", read(login, form))'
