"""The WSGI servers that can hold connections."""

from __future__ import annotations

import logging
import os
import socket
import sys
import typing as t

if t.TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

logger = logging.getLogger(__package__)

SOCKETS: t.Final = ("gunicorn.socket", "werkzeug.socket", "gunicorn.sock")
"""The keys of a request under which servers keep its socket."""

GRANIAN: t.Final = "Granian"
"""The name by which granian introduces itself to applications."""

WITHOUT_WEBSOCKETS: t.Final = {
    "granian.wsgi": "granian",
    "uvicorn.middleware.wsgi": "uvicorn",
    "waitress.server": "waitress",
}
"""The servers that give WSGI applications no sockets: their modules and names."""


def socket_of(environ: WSGIEnvironment) -> socket.socket | None:
    """Return the socket of a request, or ``None`` if the server does not provide it."""
    for name in SOCKETS:
        if name in environ:
            return t.cast(socket.socket, environ[name])

    if environ.get("SERVER_SOFTWARE", "").startswith("gevent/"):
        # The server of gevent keeps it in the body, which may be wrapped.
        body = environ["wsgi.input"]
        reader = getattr(body, "rfile", body)
        return getattr(getattr(reader, "raw", None), "_sock", None)

    return None


def has_one_thread(environ: WSGIEnvironment) -> bool:
    """Return whether the server answers one request at a time."""
    if environ.get("SERVER_SOFTWARE") == GRANIAN:
        return _granian_threads() == 1

    return not environ.get("wsgi.multithread")


def has_other_workers(environ: WSGIEnvironment) -> bool:
    """Return whether requests of one client may reach several processes."""
    if environ.get("SERVER_SOFTWARE") == GRANIAN:
        return (_granian_option("workers") or 1) > 1

    return bool(environ.get("wsgi.multiprocess"))


def _granian_threads() -> int | None:
    """Return how many threads granian was told to start, if it was."""
    pressure = _granian_option("backpressure")
    half = None if pressure is None else max(1, pressure // 2)
    return _granian_option("blocking-threads") or half


def _granian_option(name: str) -> int | None:
    """Return a number that granian was started with, and does not tell applications."""
    words = " ".join(sys.argv).replace("=", " ").split()
    option = f"--{name}"

    if option in words[:-1]:
        value = words[words.index(option) + 1]
    else:
        value = os.environ.get(f"GRANIAN_{name.replace('-', '_').upper()}", "")

    return int(value) if value.isdecimal() else None


def warn_about_server() -> None:
    """Warn if the server that loads the application cannot hold connections."""
    if os.environ.get("SERVER_SOFTWARE", "").startswith("gunicorn/"):
        if "gunicorn.workers.sync" in sys.modules:
            logger.warning(
                "Clients cannot connect: a sync worker answers one request at a time."
                " Start gunicorn with '-k gthread --threads 100' or '-k gevent', or"
                " serve realtime.asgi(app) with '-k asgi'."
            )

        return

    for module, name in WITHOUT_WEBSOCKETS.items():
        if module in sys.modules:
            logger.warning(
                "Clients cannot open WebSockets: %s has none for WSGI applications."
                " They poll, which needs a single worker and a thread for each client."
                " For WebSockets, serve realtime.asgi(app), or start gunicorn with"
                " '-k gthread --threads 100' or '-k gevent'.",
                name,
            )
