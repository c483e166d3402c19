"""The settings of real-time connections in one application."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields

if t.TYPE_CHECKING:
    from flask import Flask

SETTING: t.Final = "RECORDS_REALTIME"

COUNTS: t.Final = (
    "max_payload",
    "calls_per_second",
    "max_connections",
    "max_connections_per_address",
)

OPTIONAL: t.Final = ("max_connections_per_address", "transports")

TRANSPORTS: t.Final = ("polling", "websocket")


@dataclass(frozen=True)
class Settings:
    """What one application says of its connections."""

    message_queue: str | None = None
    """The URL of a Redis server that carries events between workers and machines."""

    channel: str = "flask-records"
    """What the messages of the application are known by there."""

    origins: list[str] | str | None = None
    """The origins of pages that may connect. That of the application by default, all
    with ``"*"``.
    """

    max_payload: int = 1024 * 1024
    """How many bytes a message has at most."""

    calls_per_second: int = 50
    """How many calls a connection can make in a second. Twice as many at once."""

    max_connections: int = 1000
    """How many connections a worker has at most."""

    max_connections_per_address: int | None = None
    """How many of them come from one address at most. No limit by default."""

    transports: list[str] | None = None
    """How clients may connect: by ``polling``, by ``websocket``. Both by default, but
    not by polling where the requests of a client may reach several workers.
    """

    async_mode: str | None = None
    """How Socket.IO runs: ``threading`` or ``gevent``. Found out by default."""

    @classmethod
    def of(cls, app: Flask) -> Settings:
        """Return the settings of an application.

        :param app: The application.
        :raises RuntimeError: A setting is wrong. The message names it.
        """
        said = app.config.get(SETTING) or {}

        if not isinstance(said, Mapping):
            raise RuntimeError(f"{SETTING} is not a mapping.")

        known = {field.name for field in fields(cls)}

        for name, value in said.items():
            if name not in known:
                raise RuntimeError(f"{SETTING} has '{name}', which is not a setting.")

            _check(name, value)

        return cls(**said)


def _check(name: str, value: t.Any) -> None:
    place = f"{SETTING}[{name!r}]"

    if name in OPTIONAL and value is None:
        return

    if name in COUNTS:
        if type(value) is not int or value < 1:
            raise RuntimeError(f"{place} is not a whole number from 1.")
    elif name == "transports":
        is_list = isinstance(value, (list, tuple)) and value

        if not is_list or any(one not in TRANSPORTS for one in value):
            raise RuntimeError(f"{place} is not a list of 'polling' and 'websocket'.")
    elif name == "origins":
        if not isinstance(value, (str, list, tuple, type(None))):
            raise RuntimeError(f"{place} is not a list of origins.")
    elif not isinstance(value, (str, type(None))):
        raise RuntimeError(f"{place} is not text.")
