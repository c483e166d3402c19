"""Hooks for services with users, and a check for views."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from functools import wraps

from flask import current_app, g, request

from ..errors import Forbidden, NotAuthenticated
from ..service.context import Params
from .records import current_records

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..service.context import Hook, HookContext
    from ..typing import Id


@dataclass(frozen=True, eq=False)
class HashPassword:
    """The hook of :func:`hash_password`."""

    fields: Collection[str]
    """The fields with passwords."""

    is_slow: t.ClassVar = True
    """No call waits for a lock of the database while this hook runs."""

    def __call__(self, method: str, context: HookContext) -> None:
        """Replace the passwords of a call with their hashes."""
        for body in context.bodies:
            for name in self.fields:
                if body.get(name) is not None:
                    settings = current_records.authentication().settings
                    body[name] = settings.passwords.hash(body[name], name)


def hash_password(*fields: str) -> Hook:
    """Return a before hook for create, update and patch that replaces passwords with
    their hashes. Absent ones stay absent, and null stays null. The costs of a hash are
    those in the settings of the first authentication service.

    :param fields: The fields with passwords. ``"password"`` by default.
    """
    if not all(isinstance(name, str) for name in fields):
        raise TypeError(
            "'hash_password' returns a hook. Connect what it returns:"
            " 'hash_password(...)'."
        )

    return HashPassword(fields or ("password",))


def accept_me(method: str, context: HookContext) -> None:
    """Let the identifier ``me`` stand for the caller's: a before hook of users
    for get, update, patch and remove.

    :raises NotAuthenticated: There is no caller.
    """
    if context.id == "me":
        context.id = _user_id(context.params)

        # Without an identifier, a patch or a remove would be one of many.
        if context.id is None:
            raise NotAuthenticated("Not authenticated")


def set_user_field(field: str) -> Hook:
    """Return a before hook for create, update and patch that makes the caller the owner
    of the records that are written. A patch that does not name the field leaves it
    unchanged. Calls in Python without a user pass.

    :param field: The field with the identifier of the owner.
    """

    def hook(method: str, context: HookContext) -> None:
        owner = _user_id(context.params)

        if owner is None:
            return

        for body in context.bodies:
            if method != "patch" or field in body:
                body[field] = owner

    return hook


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
        authentication.check_strategies(accepted, "'requires' names")
        credentials = authentication.parse(request.headers, accepted)

        if credentials is None:
            raise NotAuthenticated("Not authenticated")

        params = Params(headers=request.headers)
        result = authentication.authenticate(credentials, params, accepted)

        if result["authentication"].get("scopes") is not None:
            raise Forbidden("This login is for services alone.")

        g.authentication = result

    def decorator(view: Callable[..., t.Any] | None = None) -> t.Any:
        if view is None:
            return check()

        @wraps(view)
        def check_and_call(*args: t.Any, **kwargs: t.Any) -> t.Any:
            check()
            return current_app.ensure_sync(view)(*args, **kwargs)

        return check_and_call

    return decorator


def _user_id(params: Params) -> Id:
    """Return the identifier of the caller, or ``None`` in Python without a user."""
    owner = params.user_id

    # A call in Python may have a user without it.
    if owner is None and isinstance(params.user, dict):
        owner = params.user.get(current_records.authentication().id)

    if owner is not None:
        return owner

    if params.provider is None:
        return None

    if params.authenticated:
        raise Forbidden("This needs a login of a user.")

    raise NotAuthenticated("Not authenticated")
