"""The scripts of the Socket.IO client, which pages load from the path of the server."""

from __future__ import annotations

import typing as t
from pathlib import Path

from werkzeug.exceptions import HTTPException
from werkzeug.exceptions import MethodNotAllowed
from werkzeug.exceptions import NotFound
from werkzeug.utils import send_from_directory

if t.TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

    from _typeshed.wsgi import StartResponse
    from _typeshed.wsgi import WSGIEnvironment

FOLDER: t.Final = Path(__file__).parent.parent / "http" / "static"
"""The folder of the scripts."""

FILES: t.Final = {
    "socket.io.js": "socket.io.min.js",
    "socket.io.min.js": "socket.io.min.js",
}
"""The scripts by the names that Socket.IO has for them."""

LEGACY_FILES: t.Final = {
    **FILES,
    # Clients of FeathersJS 4 insist on version 2, and those of version 5 take it.
    "socket.io.js": "socket.io-2.min.js",
    "socket.io.slim.js": "socket.io-2.min.js",
}
"""The same for pages with clients of Socket.IO 2, which has no minified script."""


def file_name(environ: WSGIEnvironment) -> str:
    """Return the name of the file that a request asks for, empty if it is for none."""
    return str(environ.get("PATH_INFO", "")).rpartition("/")[2]


def send(
    name: str,
    files: Mapping[str, str],
    environ: WSGIEnvironment,
    start_response: StartResponse,
) -> Iterable[bytes]:
    """Send a script. Clients may keep it, and ask each time if it has changed.

    :param files: The scripts that there are.
    """
    try:
        if name not in files:
            raise NotFound(f"There is no '{name}'. Load one of: {', '.join(files)}.")

        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            raise MethodNotAllowed(["GET", "HEAD"])

        response = send_from_directory(
            FOLDER, files[name], environ, mimetype="text/javascript", max_age=None
        )
    except HTTPException as error:
        return error(environ, start_response)

    return response(environ, start_response)
