"""Limits on the calls of a client."""

from __future__ import annotations

import ipaddress
import math
import re
import time
import typing as t
from contextlib import contextmanager
from threading import Lock

from flask import current_app, has_request_context, request

from ..errors import RecordsError, TooManyRequests
from ..http.error_handler import line_of, Outages
from ..service.globals import call_stack
from ..settings import Check, read_settings
from .records import current_records
from .token_table import digest_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from flask import Flask
    from flask_limiter import Limiter
    from limits import RateLimitItem

    from ..service import Service
    from ..service.context import HookContext
    from .service import AuthenticationService

SETTING: t.Final = "RECORDS_LIMITS"

STORAGE_OPTIONS: t.Final = {"socket_timeout": 2, "socket_connect_timeout": 2}
"""The seconds that a question to Redis waits for a connection, and for the answer."""

UNCOUNTED: t.Final = "The limits of calls can't be counted."

COUNTED_APART: t.Final = (
    "Each worker counts the calls that RECORDS_LIMITS limits by itself. Let them share"
    " the counts: RATELIMIT_STORAGE_URI, or FLASK_RATELIMIT_STORAGE_URI in the"
    " environment, may be the Redis of RECORDS_REALTIME['message_queue']."
)

MAX_FAILURES: t.Final = (20, 100)
"""The number of logins that may fail as one user, and from one address."""

FAILURE_SECONDS: t.Final = 15 * 60
"""The seconds after which failed logins are forgotten."""

MAX_KEYS: t.Final = 10_000
"""The number of names and addresses whose failed logins are remembered."""

WITH_PORT: t.Final = re.compile(r"\[([^\[\]]+)\]:\d+|([^:]+):\d+")
"""An address of IPv6 or of IPv4, with its port."""

EXTENSION: t.Final = "records_limits"
"""The key of ``app.extensions`` with the limits, by the name of the call."""


class FailedLogins:
    """Refuses logins as one user, or from one address, of which too many have failed in
    this process, for the rest of some minutes.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._end = 0.0
        self._lock = Lock()

    @contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Count a login that fails meanwhile. Logins at once count until they succeed.

        :raises TooManyRequests: Too many have failed.
        """
        keys = digest_of(name), client_address()

        with self._lock:
            self._check(keys)

            for key in keys:
                # The key that has not failed for the longest time is the first.
                self._counts[key] = self._counts.pop(key, 0) + 1

            while len(self._counts) > MAX_KEYS:
                del self._counts[next(iter(self._counts))]

        has_failed = False

        try:
            yield
        except RecordsError as error:
            has_failed = error.code is not None and error.code < 500
            raise
        finally:
            if not has_failed:
                with self._lock:
                    for key in filter(self._counts.get, keys):
                        self._counts[key] -= 1

    def _check(self, keys: tuple[str, ...]) -> None:
        now = time.monotonic()

        if now >= self._end:
            self._counts, self._end = {}, now + FAILURE_SECONDS

        for key, most in zip(keys, MAX_FAILURES, strict=True):
            if self._counts.get(key, 0) >= most:
                message = "Too many logins have failed. Try again later."
                raise _too_many(message, self._end - now)


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
        """Read the limits of an application."""
        from limits import parse_many
        from limits.storage import MemoryStorage

        views = ("oauth.start", "oauth.callback")
        limits: dict[str, t.Any] = dict.fromkeys(views, "30 per minute")

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
            name: parse_many(value) for name, value in limits.items() if value
        }

        if self._limiter not in app.extensions.get("limiter", ()):
            _bound_storage(app)
            self._limiter.init_app(app)

        realtime = app.config.get("RECORDS_REALTIME")
        is_shared = isinstance(realtime, dict) and realtime.get("message_queue")
        limiter = self._limiter

        if is_shared and limiter.enabled and isinstance(limiter.storage, MemoryStorage):
            app.logger.warning(COUNTED_APART)

    def __call__(self, context: HookContext) -> None:
        """Count a call. Logins count themselves, by what they send."""
        path, method = context.path, context.method

        if method != "create" or path not in current_records.authentications:
            self.count(path, method, client_address)

    def count(self, path: str, method: str, client: Callable[[], str]) -> None:
        """Count a request of a client to a service or a view."""
        limits = current_app.extensions[EXTENSION].get(f"{path}.{method}")

        if not limits or not self._limiter.enabled or not has_request_context():
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
        message = f"Too many requests: {limit} at most."
        raise _too_many(message, window.reset_time - time.time())


def _too_many(message: str, seconds: float) -> TooManyRequests:
    error = TooManyRequests(message)
    error.headers["Retry-After"] = str(max(1, math.ceil(seconds)))
    return error


def count_account(path: str, account: str) -> None:
    """Count an attempt of a client on an account, by the limit of a service."""
    # The storage of the counts has no names.
    if is_of_client():
        count(path, "account", lambda: digest_of(account))


def count(path: str, method: str, client: Callable[[], str] | None = None) -> None:
    """Count a request of a client, by its address by default, if calls are limited."""
    if current_records.limits is not None:
        current_records.limits.count(path, method, client or client_address)


def is_of_client() -> bool:
    """Return whether a client makes the call in progress, not a hook or a script."""
    context = call_stack.get()
    return has_request_context() and (
        context is None or context.params.provider is not None
    )


def client_address() -> str:
    """Return the address of the client of the current request, or its network."""
    return network_of(request.remote_addr or "unknown")


def network_of(text: str) -> str:
    """Return an address, or its network if a client has many addresses, as in IPv6."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        # Azure writes the port of the client, another one for each connection.
        match = WITH_PORT.fullmatch(text)
        return network_of(match[1] or match[2]) if match else text

    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return str(address.ipv4_mapped)

    if address.version == 4:
        return text

    return str(ipaddress.ip_network((address, 64), strict=False))


def _bound_storage(app: Flask) -> None:
    """Count in memory by default, and let no call wait for Redis for ever."""
    app.config.setdefault("RATELIMIT_STORAGE_URI", "memory://")

    if str(app.config["RATELIMIT_STORAGE_URI"]).startswith(("redis://", "rediss://")):
        custom = app.config.get("RATELIMIT_STORAGE_OPTIONS") or {}
        app.config["RATELIMIT_STORAGE_OPTIONS"] = {**STORAGE_OPTIONS, **custom}


def _is_limit(value: t.Any) -> bool:
    from limits import parse_many

    try:
        return value in (None, "") or bool(parse_many(value))
    except (ValueError, TypeError, AttributeError):
        return False


LIMIT: t.Final = Check(_is_limit, "like '10 per minute', or None")
