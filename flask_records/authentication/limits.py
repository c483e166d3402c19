"""Limits on the calls of a client."""

from __future__ import annotations

import ipaddress
import math
import time
import typing as t

from flask import current_app, has_request_context, request

from ..errors import TooManyRequests
from ..http.error_handler import line_of, Outages
from ..service.globals import call_stack
from ..settings import Check, read_settings
from .records import current_records
from .token_stores import digest_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flask import Flask
    from flask_limiter import Limiter
    from limits import RateLimitItem

    from ..service import Service
    from ..service.context import HookContext
    from .service import AuthenticationService

SETTING: t.Final = "RECORDS_LIMITS"

VIEWS: t.Final = ("oauth.start", "oauth.callback")
"""The names of the limits of logins at OAuth providers."""

REDIS: t.Final = ("redis://", "rediss://")
"""The beginnings of the URLs of a Redis server."""

STORAGE_OPTIONS: t.Final = {"socket_timeout": 2, "socket_connect_timeout": 2}
"""The seconds that a question to Redis waits for a connection, and for the answer."""

UNCOUNTED: t.Final = "The limits of calls can't be counted."

EXTENSION: t.Final = "records_limits"
"""The key of ``app.extensions`` with the limits, by the name of the call."""


class Limits:
    """Refuses calls of a client that come too often, by its address, and logins by the
    user, too. The application's Flask-Limiter counts them.
    """

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._outages = Outages()

    def init_app(
        self,
        app: Flask,
        services: Mapping[str, Service],
        authentications: Mapping[str, AuthenticationService],
    ) -> None:
        """Read the limits of an application.

        :raises RuntimeError: A limit is not valid.
        """
        limits: dict[str, t.Any] = dict.fromkeys(VIEWS, "30 per minute")

        for path, service in authentications.items():
            limits[f"{path}.create"] = "20 per minute; 200 per hour"
            # Attempts to log in as one user, from all addresses.
            limits[f"{path}.account"] = "50 per hour"
            limits[f"{service.users_path}.create"] = "10 per minute; 50 per hour"

        for path, each in services.items():
            own = each.capabilities.limits
            limits |= {f"{path}.{name}": text for name, text in own.items()}

        methods = [
            f"{path}.{name}" for path in services for name in services[path].methods
        ]
        checks = dict.fromkeys([*limits, *methods], LIMIT)
        example = {"messages.create": "10 per minute"}
        custom = app.config.get(SETTING) or None
        limits.update(read_settings(SETTING, custom, checks, example=example))
        app.extensions[EXTENSION] = {
            name: _parsed(text) for name, text in limits.items() if text
        }

        if self._limiter not in app.extensions.get("limiter", ()):
            _bound_storage(app)
            self._limiter.init_app(app)

    def __call__(self, context: HookContext) -> None:
        """Count a call. Logins count themselves, by what they send.

        :raises TooManyRequests: There were too many. ``Retry-After`` has the seconds.
        """
        authentications = current_records.authentications

        if context.method != "create" or context.path not in authentications:
            self.count(context.path, context.method, client_address)

    def count(self, path: str, method: str, client: Callable[[], str]) -> None:
        """Count a request of a client to a service or a view.

        :raises TooManyRequests: There were too many.
        """
        limits = current_app.extensions.get(EXTENSION, {}).get(f"{path}.{method}")

        if limits is None or not self._limiter.enabled or not has_request_context():
            return

        prefix = f"{current_app.config.get('RATELIMIT_KEY_PREFIX') or ''}records"
        key = (prefix, path, method, client())

        try:
            for limit in limits:
                self._hit(limit, *key)
        except self._limiter.storage.base_exceptions as error:
            if self._outages.is_due(UNCOUNTED):
                current_app.logger.error("%s%s", UNCOUNTED, line_of(error))

    def _hit(self, limit: RateLimitItem, *key: str) -> None:
        strategy = self._limiter.limiter

        if strategy.hit(limit, *key):
            return

        window = strategy.get_window_stats(limit, *key)
        error = TooManyRequests(f"Too many requests: {limit} at most.")
        seconds = math.ceil(window.reset_time - time.time())
        error.headers["Retry-After"] = str(max(1, seconds))
        raise error


def count_account(path: str, account: str) -> None:
    """Count an attempt of a client, not of a hook or a script, on an account, if calls
    are limited.

    :param path: The path of the service whose limit counts.
    :param account: The name of the account, or what a client takes for it.
    :raises TooManyRequests: There were too many.
    """
    limits, context = current_records.limits, call_stack.get()

    # The storage of the counts has no names.
    if limits and (context is None or context.params.provider is not None):
        limits.count(path, "account", lambda: digest_of(account))


def client_address() -> str:
    """Return the address of the client of the current request, or its network."""
    return network_of(request.remote_addr or "unknown")


def network_of(text: str) -> str:
    """Return an address, or its network if a client has many addresses, as in IPv6."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text

    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)

    if address.version == 4:
        return text

    return str(ipaddress.ip_network((address, 64), strict=False))


def _bound_storage(app: Flask) -> None:
    """Count in memory by default, and let calls wait for Redis for some seconds, unless
    the application says otherwise. Some versions of redis-py would wait for ever.
    """
    app.config.setdefault("RATELIMIT_STORAGE_URI", "memory://")

    if str(app.config.get("RATELIMIT_STORAGE_URI")).startswith(REDIS):
        custom = app.config.get("RATELIMIT_STORAGE_OPTIONS") or {}
        app.config["RATELIMIT_STORAGE_OPTIONS"] = {**STORAGE_OPTIONS, **custom}


def _parsed(text: t.Any) -> tuple[RateLimitItem, ...]:
    from limits import parse_many

    return tuple(parse_many(text))


def _is_limit(value: t.Any) -> bool:
    try:
        return not value or bool(_parsed(value))
    except (ValueError, TypeError):
        return False


LIMIT: t.Final = Check(_is_limit, "like '10 per minute', or None")
