"""Limits on the calls of a client."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import time
import typing as t
from collections.abc import Mapping
from functools import cached_property
from functools import partial

from flask import current_app
from flask import has_request_context
from flask import request

from ..errors import TooManyRequests
from ..globals import call_stack
from ..globals import current_records

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask
    from flask_limiter import Limiter
    from limits import RateLimitItem

    from ..context import HookContext
    from ..service import Service
    from .service import AuthenticationService

SETTING: t.Final = "RECORDS_LIMITS"

LOGINS: t.Final = "20 per minute; 200 per hour"
"""The default limit on attempts of a client to log in."""

REGISTRATIONS: t.Final = "10 per minute; 50 per hour"
"""The default limit on users that a client registers."""

OAUTH: t.Final = "30 per minute"
"""The default limit on logins at a provider that a client begins, or returns from."""

OAUTH_VIEWS: t.Final = ("oauth.start", "oauth.callback")
"""The names of the limits on the two OAuth views."""

ACCOUNT_LOGINS: t.Final = "50 per hour"
"""The default limit on attempts of unknown clients to log in as one user."""

PASSWORD_CHANGES: t.Final = "10 per minute; 50 per hour"
"""The default limit on password changes of a client, and of a user."""

KNOWN_ADDRESS: t.Final = "1 per 30 days"
"""The time that an address is known after a login of the user."""

EXTENSION: t.Final = "records_limits"
"""The key of ``app.extensions`` with the limits, by the name of the call."""


class Limits:
    """Refuses calls of a client that come too often, by its address, and logins and
    password changes by the user, too. The application's Flask-Limiter counts them, in
    its storage.

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

        :raises RuntimeError: A limit is not valid.
        """
        defaults = dict.fromkeys(OAUTH_VIEWS, OAUTH) | {
            name: limits
            for path, service in authentications.items()
            for name, limits in (
                (f"{path}.create", LOGINS),
                (f"{path}.account", ACCOUNT_LOGINS),
                (f"{service.users_path}.create", REGISTRATIONS),
                (f"{service.users_path}.password", PASSWORD_CHANGES),
            )
        }
        custom = app.config.get(SETTING) or {}

        if not isinstance(custom, Mapping):
            raise RuntimeError(
                f"{SETTING} is not a mapping, such as"
                " {'messages.create': '10 per minute'}."
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
            self._limiter.init_app(app)

    def __call__(self, context: HookContext) -> None:
        """Count a call.

        :raises TooManyRequests: There were too many. ``Retry-After`` tells how many
            seconds to wait.
        """
        # The client does not make the calls that a call makes.
        if call_stack.get() is None:
            self.count(context.path, context.method)

    def count(self, path: str, method: str) -> None:
        """Count a request of a client.

        :param path: The path of the service, or ``oauth``.
        :param method: The method, or the view.
        :raises TooManyRequests: There were too many.
        """
        self._count(path, method, client_address)

    def count_login(self, path: str, account: str) -> None:
        """Count an attempt to log in as a user, unless the user has logged in from the
        client's address: others can't lock the user out there.

        :raises TooManyRequests: There were too many.
        """
        if _is_of_client() and not self._knows(path, account):
            self._count(path, "account", partial(_digest, account))

    def remember_login(self, path: str, account: str) -> None:
        """Remember that a user has logged in from the client's address."""
        if _is_of_client() and self._limits_of(path, "account"):
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
            self._count(path, "password", client_address)

            if params.user_id is not None:
                users = getattr(params.authenticator, "users_path", "")
                user = partial(_digest, f"{users}:{params.user_id}")
                self._count(path, "password", user)

    def _count(self, path: str, method: str, client: Callable[[], str]) -> None:
        for limit in self._limits_of(path, method):
            key = (path, method, client())

            if self._ask("hit", limit, *key) is False:
                self._refuse(limit, *key)

    def _limits_of(self, path: str, method: str) -> tuple[RateLimitItem, ...]:
        limits = current_app.extensions.get(EXTENSION, {}).get(f"{path}.{method}")

        if limits is None or not self._limiter.enabled or not has_request_context():
            return ()

        return t.cast("tuple[RateLimitItem, ...]", limits)

    def _knows(self, path: str, account: str) -> bool:
        if not self._limits_of(path, "account"):
            return False

        key = (path, "known", _client_of(account))
        return self._ask("test", self._known, *key) is False

    def _refuse(self, limit: RateLimitItem, *key: str) -> None:
        window = self._ask("get_window_stats", limit, *key)

        if window is None:
            return

        resets = window.reset_time
        error = TooManyRequests(f"Too many requests: {limit} at most.")
        error.headers["Retry-After"] = str(max(1, math.ceil(resets - time.time())))
        raise error

    def _ask(self, question: str, limit: RateLimitItem, *key: str) -> t.Any:
        """Return the answer of Flask-Limiter's strategy, ``None`` without storage."""
        prefix = current_app.config.get("RATELIMIT_KEY_PREFIX") or ""

        try:
            return getattr(self._limiter.limiter, question)(
                limit, f"{prefix}records", *key
            )
        except self._limiter.storage.base_exceptions:
            current_app.logger.exception("The limits of calls can't be counted.")
            return None

    @cached_property
    def _known(self) -> RateLimitItem:
        return _parsed("known", KNOWN_ADDRESS)[0]


def count_view(path: str, view: str) -> None:
    """Count a request to a view that is not a service, if the application has limits.

    :raises TooManyRequests: There were too many.
    """
    limits = current_records.limits

    if limits is not None:
        limits.count(path, view)


def client_address() -> str:
    """Return the address of the client of the current request, or its network if one
    client has many addresses, as with IPv6.
    """
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


def _is_of_client() -> bool:
    """Return whether a client makes the current call, not a hook or a script."""
    context = call_stack.get()
    return context is None or context.params.provider is not None


def _client_of(account: str) -> str:
    return _digest(f"{client_address()} {account}")


def _digest(text: str) -> str:
    """Return the digest of a name, for the keys of the storage."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _check_name(name: t.Any, services: Mapping[str, Service]) -> None:
    if name in OAUTH_VIEWS:
        return

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
