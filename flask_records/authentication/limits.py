"""How often a client may call a method."""

from __future__ import annotations

import ipaddress
import math
import time
import typing as t
from collections.abc import Mapping

from flask import current_app
from flask import has_request_context
from flask import request

from ..errors import TooManyRequests
from ..globals import call_stack

if t.TYPE_CHECKING:
    from flask import Flask
    from flask_limiter import Limiter
    from limits import RateLimitItem

    from ..context import HookContext
    from ..service import Service
    from .service import AuthenticationService

SETTING: t.Final = "RECORDS_LIMITS"

LOGINS: t.Final = "20 per minute; 200 per hour"
"""How often a client may try to log in, unless the settings say otherwise."""

REGISTRATIONS: t.Final = "10 per minute; 50 per hour"
"""How often a client may register a user, unless the settings say otherwise."""

OAUTH: t.Final = "30 per minute"
"""How often a client may begin a login at a provider, or come back from one, unless the
settings say otherwise.
"""

OAUTH_VIEWS: t.Final = ("oauth.start", "oauth.callback")
"""The names of the limits for the two views of OAuth."""

LIMITER: t.Final = "records_limiter"
"""Where an application keeps its :class:`Limits`."""

EXTENSION: t.Final = "records_limits"
"""Where an application keeps its limits, by the name of the call."""


class Limits:
    """Refuses calls of a client that come too often, by its address. What counts them
    is the application's Flask-Limiter, in the storage that it has.

    :param limiter: The ``flask_limiter.Limiter``.
    """

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter

    def init_app(
        self,
        app: Flask,
        services: Mapping[str, Service],
        authentications: Mapping[str, AuthenticationService],
    ) -> None:
        """Read the limits of an application.

        :param app: The application.
        :param services: All services, by path.
        :param authentications: The authentication services, by path.
        :raises RuntimeError: A limit is not understood.
        """
        defaults = dict.fromkeys(OAUTH_VIEWS, OAUTH) | {
            name: limits
            for path, service in authentications.items()
            for name, limits in (
                (f"{path}.create", LOGINS),
                (f"{service.users_path}.create", REGISTRATIONS),
            )
        }
        said = app.config.get(SETTING) or {}

        if not isinstance(said, Mapping):
            raise RuntimeError(
                f"{SETTING} is not a mapping, such as"
                " {'messages.create': '10 per minute'}."
            )

        for name in said:
            _check_name(name, services)

        app.extensions[EXTENSION] = {
            name: _parsed(name, text)
            for name, text in {**defaults, **said}.items()
            if text
        }
        app.extensions[LIMITER] = self

        if self._limiter not in app.extensions.get("limiter", ()):
            self._limiter.init_app(app)

    def __call__(self, context: HookContext) -> None:
        """Count a call.

        :param context: The call.
        :raises TooManyRequests: There were too many. ``Retry-After`` tells how many
            seconds to wait.
        """
        # What a call needs from other services is not the client's doing.
        if call_stack.get() is None:
            self.count(context.path, context.method)

    def count(self, path: str, method: str) -> None:
        """Count a request of a client.

        :param path: The path of the service, or ``oauth``.
        :param method: The method, or the view.
        :raises TooManyRequests: There were too many.
        """
        known = current_app.extensions.get(EXTENSION, {})
        limits = known.get(f"{path}.{method}")

        if limits is None or not self._limiter.enabled or not has_request_context():
            return

        for limit in limits:
            self._count(limit, path, method)

    def _count(self, limit: RateLimitItem, path: str, method: str) -> None:
        strategy = self._limiter.limiter
        prefix = current_app.config.get("RATELIMIT_KEY_PREFIX") or ""
        key = (f"{prefix}records", path, method, client_address())

        try:
            if strategy.hit(limit, *key):
                return

            resets = strategy.get_window_stats(limit, *key).reset_time
        except self._limiter.storage.base_exceptions:
            current_app.logger.exception("The limits of calls can't be counted.")
            return

        error = TooManyRequests(f"Too many requests: {limit} at most.")
        error.headers["Retry-After"] = str(max(1, math.ceil(resets - time.time())))
        raise error


def count_view(path: str, view: str) -> None:
    """Count a request to a view that is no service, if the application has limits.

    :param path: The first part of the name of the limit.
    :param view: The rest of it.
    :raises TooManyRequests: There were too many.
    """
    limits = current_app.extensions.get(LIMITER)

    if limits is not None:
        limits.count(path, view)


def client_address() -> str:
    """Return the address of the client of the current request, or the network of it
    where one client has many addresses, as with IPv6.
    """
    text = request.remote_addr or "unknown"

    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text

    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)

    if address.version == 4:
        return text

    return str(ipaddress.ip_network((address, 64), strict=False))


def _check_name(name: t.Any, services: Mapping[str, Service]) -> None:
    if name in OAUTH_VIEWS:
        return

    path, _, method = str(name).rpartition(".")

    if path not in services or method not in services[path].methods:
        raise RuntimeError(
            f"{SETTING} names '{name}', which is no method of a service. It is like"
            " 'messages.create'."
        )


def _parsed(name: str, text: t.Any) -> tuple[RateLimitItem, ...]:
    from limits import parse_many

    try:
        return tuple(parse_many(text))
    except (ValueError, TypeError) as error:
        raise RuntimeError(
            f"{SETTING}['{name}'] is {text!r}. It is like '10 per minute'."
        ) from error
