"""The origins of pages that may connect."""

from __future__ import annotations

import typing as t

from werkzeug.wsgi import get_host

from ..http.origins import ALL

if t.TYPE_CHECKING:
    from .settings import Settings


def origin_check(settings: Settings) -> t.Any:
    """Return the check of a page's origin, or ``"*"`` to accept all."""
    if ALL in settings.origins:
        return ALL

    def is_allowed(origin: str, environ: t.Any) -> bool:
        own = f"{environ['wsgi.url_scheme']}://{get_host(environ)}"
        return origin in (own, *settings.origins)

    return is_allowed
