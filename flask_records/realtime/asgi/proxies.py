"""The proxies that an application trusts, for handshakes as for requests."""

from __future__ import annotations

import copy
import typing as t

from werkzeug.middleware.proxy_fix import ProxyFix

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed.wsgi import WSGIEnvironment
    from flask import Flask

NEXT: t.Final = ("app", "wsgi_app")
"""The attributes under which middleware usually has the next application."""


class Proxies:
    """Corrects handshakes as the ``ProxyFix`` of an application corrects requests.

    :param app: The application, with all of its middleware.
    """

    def __init__(self, app: Flask) -> None:
        self._fixes = [_alone(fix) for fix in _layers(app) if isinstance(fix, ProxyFix)]

    def correct(self, environ: WSGIEnvironment) -> None:
        """Set the address of the client, and what else the proxies tell."""
        for fix in self._fixes:
            fix(environ, t.cast(t.Any, None))


def _layers(app: Flask) -> Iterator[t.Any]:
    """Yield the middleware around an application, the outermost first."""
    layer: t.Any = app.wsgi_app
    seen = [app]

    while layer is not None and layer not in seen:
        yield layer
        seen.append(layer)
        names = (name for name in NEXT if hasattr(layer, name))
        layer = getattr(layer, next(names, ""), None)


def _alone(fix: ProxyFix) -> ProxyFix:
    """Return the same without the application that it calls."""
    fix = copy.copy(fix)
    fix.app = lambda environ, start_response: ()
    return fix
