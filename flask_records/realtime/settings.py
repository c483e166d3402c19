"""The settings of real-time connections in one application."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ..http.cors import CorsSettings
from ..http.origins import ORIGINS, parse_origins
from ..settings import Check, COUNT, FLAG, read_settings, TEXT

if t.TYPE_CHECKING:
    from flask import Flask

SETTING: t.Final = "RECORDS_REALTIME"


@dataclass(frozen=True)
class Settings:
    """The settings of one application."""

    message_queue: str | None = None
    """The URL of the Redis that carries events between workers and machines."""

    channel: str = "flask-records"
    """The prefix of all names in Redis."""

    origins: tuple[str, ...] = ()
    """The origins of pages that may connect besides the app's: those of
    ``RECORDS_CORS`` by default, ``("*",)`` for all.
    """

    max_payload: int = 1024 * 1024
    """The maximum size of a message in bytes."""

    max_unsent: int = 1024 * 1024
    """The bytes of events that a client may leave unread. Beyond it, the client is
    disconnected.
    """

    calls_per_second: int = 50
    """The number of a connection's calls in a second. 20 times as many at once, after
    which calls wait.
    """

    max_connections: int = 1000
    """The maximum number of connections of a worker."""

    max_connections_per_address: int | None = None
    """The maximum number of connections from one address. A tenth of all by default,
    and at least 20.
    """

    max_connections_per_user: int | None = None
    """The maximum number of connections of one user. As many as from one address by
    default.
    """

    transports: list[str] | None = None
    """The transports that clients may use: ``polling``, ``websocket``. Both by default,
    without polling if the requests of a client may reach several workers.
    """

    legacy_clients: bool = False
    """Accept clients of Socket.IO 2, with which FeathersJS 4 was used."""

    path: str = "socket.io"
    """The path of the URL that clients connect to."""

    @classmethod
    def of(cls, app: Flask) -> Settings:
        """Return the settings of an application.

        :raises RuntimeError: A setting is invalid. The message names it.
        """
        example = {"max_connections": 200}
        options = read_settings(
            SETTING, app.config.get(SETTING), CHECKS, example=example
        )

        if options.get("origins") is None:
            options["origins"] = CorsSettings.of(app).origins

        options["origins"] = parse_origins(
            options.get("origins"), f"{SETTING}['origins']"
        )
        return cls(**options)

    @property
    def max_of_address(self) -> int:
        """The maximum number of connections from one address."""
        return self.max_connections_per_address or max(20, self.max_connections // 10)

    @property
    def max_of_user(self) -> int:
        """The maximum number of connections of one user."""
        return self.max_connections_per_user or max(20, self.max_connections // 10)

    @property
    def url_path(self) -> str:
        """The path that clients connect to, with slashes around it."""
        return f"/{self.path.strip('/')}/"


def _are_transports(value: t.Any) -> bool:
    is_list = isinstance(value, (list, tuple)) and bool(value)
    return is_list and all(name in ("polling", "websocket") for name in value)


CHECKS: t.Final[Mapping[str, Check]] = {
    # The URL of Redis may have a password.
    "message_queue": TEXT.or_none().secret(),
    "channel": TEXT,
    "origins": ORIGINS,
    "max_payload": COUNT,
    "max_unsent": COUNT,
    "calls_per_second": COUNT,
    "max_connections": COUNT,
    "max_connections_per_address": COUNT.or_none(),
    "max_connections_per_user": COUNT.or_none(),
    "transports": Check(
        _are_transports, "a list of 'polling' and 'websocket'"
    ).or_none(),
    "legacy_clients": FLAG,
    "path": Check(
        lambda value: isinstance(value, str) and bool(value.strip("/")), "a path"
    ),
}
"""The checks of the settings."""
