"""The path of connections as a WSGI application answers it, with scripts of clients."""

from __future__ import annotations

import logging
import typing as t
from functools import cache, partial
from pathlib import Path

from flask import request, Response
from werkzeug.exceptions import NotFound

from ..errors import BadRequest
from ..http.formatter import forbid_sniffing

if t.TYPE_CHECKING:
    from flask import Flask

    from .settings import Settings

logger = logging.getLogger(__package__)

FOLDER: t.Final = Path(__file__).parent.parent / "http" / "static"
"""The folder of the scripts."""

SCRIPT: t.Final = "socket.io.min.js"

LEGACY_SCRIPT: t.Final = "socket.io-2.min.js"

NO_CONNECTIONS: t.Final = (
    "This server holds no connections. Real time needs an ASGI server, such as"
    " gunicorn -k asgi, that serves realtime.asgi(app)."
)


def add_routes(app: Flask, settings: Settings) -> None:
    """Let an application send scripts of the client, and refuse clients that connect:
    an ASGI server answers these itself.
    """
    path = settings.url_path
    # Clients of FeathersJS 4 insist on version 2, and those of version 5 take it.
    default = LEGACY_SCRIPT if settings.legacy_clients else SCRIPT
    files = {"socket.io.js": default, SCRIPT: SCRIPT}
    warn_once = cache(partial(logger.warning, "A client can't connect. %s"))

    def script(name: str) -> Response:
        if name not in files:
            raise NotFound(f"There is no '{name}'. Load one of: {', '.join(files)}.")

        text = (FOLDER / files[name]).read_bytes()
        response = Response(text, mimetype="text/javascript")
        response.cache_control.no_cache = True
        response.add_etag()
        response.make_conditional(request)
        return forbid_sniffing(response)

    def socket() -> Response:
        warn_once(NO_CONNECTIONS)
        raise BadRequest(NO_CONNECTIONS)

    options: t.Any = {"methods": ["GET", "POST"], "strict_slashes": False}
    app.add_url_rule(f"{path}<name>", "records_realtime.script", script)
    app.add_url_rule(path, "records_realtime.socket", socket, **options)
