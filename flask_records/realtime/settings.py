"""The settings of real-time connections in one application."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from ..http.cors import CorsSettings
from ..http.origins import ORIGINS, parse_origins
from ..http.routes import join_prefixes, placeholders_of, routes_of
from ..settings import Check, COUNT, FLAG, read_settings, TEXT

if t.TYPE_CHECKING:
    from flask import Flask

SETTING: t.Final = "RECORDS_REALTIME"

URL_PATH: t.Final = "/socket.io/"
"""The path that clients of Socket.IO connect to."""


@dataclass(frozen=True)
class Settings:
    """The settings of one application."""

    message_queue: str | None = None
    """The URL of the Redis that carries events between workers and machines."""

    channel: str = "flask-records"
    """The prefix of all names in Redis."""

    origins: tuple[str, ...] = ()
    """The origins of pages that may connect besides the app's: the ones of
    ``RECORDS_CORS`` by default, ``("*",)`` for all.
    """

    max_payload: int = 1024 * 1024
    """The maximum size of a message in bytes."""

    max_unsent: int = 1024 * 1024
    """The bytes of events that a client may leave unread. Beyond it, the client is
    disconnected.
    """

    max_connections: int = 1000
    """The maximum number of connections of a worker."""

    max_connections_per_address: int = 100
    """The maximum number of connections from one address. A tenth of all by default,
    and at least 20.
    """

    max_connections_per_user: int = 100
    """The maximum number of connections of one user, with the same default."""

    transports: list[str] | None = None
    """The transports that clients may use: ``polling``, ``websocket``. Both by default,
    without polling if the requests of a client may reach several workers.
    """

    legacy_clients: bool = False
    """Accept clients of Socket.IO 2, with which FeathersJS 4 was used."""

    stream: str | None = None
    """The path of the stream of events over plain HTTP, after the prefix of services,
    such as ``sse``. There is none by default.
    """

    @classmethod
    def of(cls, app: Flask) -> Settings:
        """Return the settings of an application.

        :raises RuntimeError: A setting is invalid. The message names it.
        """
        example = {"max_connections": 200}
        options = read_settings(
            SETTING, app.config.get(SETTING), CHECKS, example=example
        )

        origins = options.get("origins")

        if origins is None:
            options["origins"] = CorsSettings.of(app).origins
        else:
            options["origins"] = parse_origins(origins, f"{SETTING}['origins']")

        share = max(20, options.get("max_connections", cls.max_connections) // 10)

        for name in ("max_connections_per_address", "max_connections_per_user"):
            options[name] = options.get(name) or share

        return cls(**options)

    @property
    def stream_name(self) -> str:
        """The path of the stream, by which clients know its own events."""
        return (self.stream or "").strip("/")


def stream_path_of(app: Flask, settings: Settings) -> str | None:
    """Return the path of the URL of the stream, with slashes around it. ``None`` if
    there is no stream.

    :raises RuntimeError: The URLs of services have placeholders before their paths.
    """
    if settings.stream is None:
        return None

    prefix = routes_of(app).url_prefix

    if placeholders_of(prefix):
        raise RuntimeError(
            f"{SETTING}['stream'] needs a prefix of services without placeholders, not"
            f" '{prefix}'."
        )

    return f"{join_prefixes(prefix, settings.stream)}/"


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
    "max_connections": COUNT,
    "max_connections_per_address": COUNT.or_none(),
    "max_connections_per_user": COUNT.or_none(),
    "transports": Check(
        _are_transports, "a list of 'polling' and 'websocket'"
    ).or_none(),
    "legacy_clients": FLAG,
    "stream": Check(
        lambda value: isinstance(value, str) and bool(value.strip("/")), "a path"
    ).or_none(),
}
"""The checks of the settings."""
