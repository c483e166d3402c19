"""Protection for plain Flask views."""

from __future__ import annotations

import typing as t
from functools import wraps

from flask import current_app, g, request

from ..context import Params
from ..errors import NotAuthenticated
from ..globals import current_records

if t.TYPE_CHECKING:
    from collections.abc import Callable


def requires(*strategies: str, service: str | None = None) -> Callable[..., t.Any]:
    """Return a check that refuses requests that none of the strategies accepts: a
    decorator for views, and a function for ``before_request`` of a blueprint. See
    section 5.6 of the specification.

    .. code-block:: python

        @app.get("/profile")
        @requires("jwt")
        def profile():
            return g.authentication["user"]

        blueprint.before_request(requires("jwt", "api-key"))

    The result of the strategy is in ``g.authentication``: ``authentication``, ``user``
    and what else the strategy returns. Other requests get 401.

    :param strategies: Their names. ``"jwt"`` by default.
    :param service: The path of the authentication service. The first one by default.
    """
    if not all(isinstance(name, str) for name in strategies):
        raise TypeError("Write the decorator with parentheses: @requires().")

    accepted = strategies or ("jwt",)

    def check() -> None:
        is_automatic = getattr(request.url_rule, "provide_automatic_options", False)

        # A browser sends a preflight request without a token.
        if request.method == "OPTIONS" and is_automatic:
            return

        authentication = current_records.authentication(service)
        credentials = authentication.parse(request.headers)

        if credentials is None:
            raise NotAuthenticated("Not authenticated")

        params = Params(headers=request.headers)
        g.authentication = authentication.authenticate(credentials, params, accepted)

    def decorator(view: Callable[..., t.Any] | None = None) -> t.Any:
        if view is None:
            return check()

        @wraps(view)
        def protected(*args: t.Any, **kwargs: t.Any) -> t.Any:
            check()
            return current_app.ensure_sync(view)(*args, **kwargs)

        return protected

    return decorator
