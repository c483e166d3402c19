"""Limits on the calls of a client."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import time
import typing as t
from collections.abc import Mapping
from functools import cached_property, partial

from flask import current_app, has_request_context, request

from ..errors import TooManyRequests
from ..globals import call_stack, current_records
from ..http.error_handler import line_of, Outages

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask
    from flask_limiter import Limiter
    from limits import RateLimitItem

    from ..context import HookContext
    from ..service import Service
    from .service import AuthenticationService

SETTING: t.Final = "RECORDS_LIMITS"

REDIS: t.Final = ("redis://", "rediss://")
"""The beginnings of the URLs of a Redis server."""

STORAGE_OPTIONS: t.Final = {"socket_timeout": 2, "socket_connect_timeout": 2}
"""The seconds that a question to Redis waits for a connection, and for the answer."""

UNCOUNTED: t.Final = "The limits of calls can't be counted."

EXTENSION: t.Final = "records_limits"
"""The key of ``app.extensions`` with the limits, by the name of the call."""


class Limits:
    """Refuses calls of a client that come too often, by its address, and logins and
    password changes by the user, too. The application's Flask-Limiter counts them.
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
        defaults = dict.fromkeys(["oauth.start", "oauth.callback"], "30 per minute")

        for path, service in authentications.items():
            defaults[f"{path}.create"] = "20 per minute; 200 per hour"
            # Attempts of unknown clients to log in as one user.
            defaults[f"{path}.account"] = "50 per hour"
            defaults[f"{service.users_path}.create"] = "10 per minute; 50 per hour"
            defaults[f"{service.users_path}.password"] = "10 per minute; 50 per hour"

        custom = app.config.get(SETTING) or {}

        if not isinstance(custom, Mapping):
            raise RuntimeError(
                f"{SETTING} must be a mapping such as"
                f" {{'messages.create': '10 per minute'}}, not {custom!r}."
            )

        for name in custom:
            if name not in defaults:
                _check_name(name, services)

        app.extensions[EXTENSION] = {
            name: _parsed(name, text)
            for name, text in {**defaults, **custom}.items()
            if text
        }

        if self._limiter not in app.extensions.get("limiter", ()):
            _bound_storage(app)
            self._limiter.init_app(app)

    def __call__(self, context: HookContext) -> None:
        """Count a call.

        :raises TooManyRequests: There were too many. ``Retry-After`` has the seconds.
        """
        self.count(context.path, context.method, client_address)

    def count_login(self, path: str, account: str) -> None:
        """Count an attempt to log in as a user, unless the user has logged in from the
        client's address: others can't lock the user out there.

        :raises TooManyRequests: There were too many.
        """
        if self._limits_logins(path) and not self._knows(path, account):
            self.count(path, "account", partial(_digest, account))

    def remember_login(self, path: str, account: str) -> None:
        """Remember that a user has logged in from the client's address."""
        if self._limits_logins(path):
            self._ask("hit", self._known, path, "known", _client_of(account))

    def count_password_change(self, method: str, context: HookContext) -> None:
        """Count a call of a client that sets the password of users. It is a before
        hook of all services.

        :raises TooManyRequests: There were too many.
        """
        params = context.params

        if params.provider is None:
            return

        paths = {
            service.users_path
            for service in current_records.authentications.values()
            if service.password in params.client_fields
            and service.lookup.has(context.service)
        }

        for path in paths:
            self.count(path, "password", client_address)

            if params.user_id is not None:
                users = getattr(params.authenticator, "users_path", "")
                user = partial(_digest, f"{users}:{params.user_id}")
                self.count(path, "password", user)

    def count(self, path: str, method: str, client: Callable[[], str]) -> None:
        """Count a request of a client to a service or a view.

        :raises TooManyRequests: There were too many.
        """
        for limit in self._limits_of(path, method):
            key = (path, method, client())

            if self._ask("hit", limit, *key) is False:
                self._refuse(limit, *key)

    def _limits_of(self, path: str, method: str) -> tuple[RateLimitItem, ...]:
        limits = current_app.extensions.get(EXTENSION, {}).get(f"{path}.{method}")

        if limits is None or not self._limiter.enabled or not has_request_context():
            return ()

        return t.cast("tuple[RateLimitItem, ...]", limits)

    def _limits_logins(self, path: str) -> bool:
        """Return whether a client, not a hook or a script, logs in with limits."""
        context = call_stack.get()
        is_of_client = context is None or context.params.provider is not None
        return is_of_client and bool(self._limits_of(path, "account"))

    def _knows(self, path: str, account: str) -> bool:
        key = (path, "known", _client_of(account))
        return self._ask("test", self._known, *key) is False

    def _refuse(self, limit: RateLimitItem, *key: str) -> None:
        window = self._ask("get_window_stats", limit, *key)

        if window is None:
            return

        seconds = math.ceil(window.reset_time - time.time())
        error = TooManyRequests(f"Too many requests: {limit} at most.")
        error.headers["Retry-After"] = str(max(1, seconds))
        raise error

    def _ask(self, question: str, limit: RateLimitItem, *key: str) -> t.Any:
        """Return the answer of Flask-Limiter's strategy, ``None`` without storage."""
        prefix = f"{current_app.config.get('RATELIMIT_KEY_PREFIX') or ''}records"

        try:
            return getattr(self._limiter.limiter, question)(limit, prefix, *key)
        except self._limiter.storage.base_exceptions as error:
            if self._outages.is_due(UNCOUNTED):
                current_app.logger.error("%s%s", UNCOUNTED, line_of(error))

            return None

    @cached_property
    def _known(self) -> RateLimitItem:
        """The time that an address is known after a login of the user."""
        return _parsed("known", "1 per 30 days")[0]


def limits_of(app: Flask, path: str, method: str) -> list[str]:
    """Return the limits of calls of a method in words.

    :param path: The path of the service.
    """
    limits = app.extensions.get(EXTENSION, {}).get(f"{path}.{method}", ())
    return [str(limit) for limit in limits]


def count_view(view: str) -> None:
    """Count a request to an OAuth view, if the application has limits.

    :raises TooManyRequests: There were too many.
    """
    limits = current_records.limits

    if limits is not None:
        limits.count("oauth", view, client_address)


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


def _client_of(account: str) -> str:
    return _digest(f"{client_address()} {account}")


def _digest(text: str) -> str:
    """Return the digest of a name, for the keys of the storage."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _bound_storage(app: Flask) -> None:
    """Let calls wait for Redis for some seconds, unless the application says otherwise.
    Without a bound they wait for ever, with some versions of redis-py.
    """
    if str(app.config.get("RATELIMIT_STORAGE_URI")).startswith(REDIS):
        custom = app.config.get("RATELIMIT_STORAGE_OPTIONS") or {}
        app.config["RATELIMIT_STORAGE_OPTIONS"] = {**STORAGE_OPTIONS, **custom}


def _check_name(name: t.Any, services: Mapping[str, Service]) -> None:
    path, _, method = str(name).rpartition(".")

    if path not in services or method not in services[path].methods:
        raise RuntimeError(
            f"{SETTING} names '{name}', which is not a method of a service. It is like"
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
