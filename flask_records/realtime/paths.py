"""The paths of the Socket.IO servers of an application."""

from __future__ import annotations

import typing as t

import engineio

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

TAKEN: t.Final = """\
This app has another Socket.IO server at {path}. Share it, with \
Realtime(records, socketio=...), or give ours another path: \
RECORDS_REALTIME['path'] = 'records.io'.\
"""


def check_paths(app: Flask) -> None:
    """Check that no two Socket.IO servers of an application have the same path.

    :raises RuntimeError: Two have. Only one of them would get any requests.
    """
    paths = list(_paths_of(app))

    for number, path in enumerate(paths):
        if any(path.startswith(other) for other in paths[number + 1 :]):
            raise RuntimeError(TAKEN.format(path=path.rstrip("/")))


def _paths_of(app: Flask) -> Iterator[str]:
    """Yield the paths of the servers, the outermost first."""
    layer: t.Any = app.wsgi_app

    while layer is not None:
        if isinstance(layer, engineio.WSGIApp):
            yield layer.engineio_path

        # Middleware of Werkzeug has its application in `app`.
        layer = getattr(layer, "wsgi_app", None) or getattr(layer, "app", None)
