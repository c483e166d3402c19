"""The logins of connections, and when they end."""

from __future__ import annotations

import logging
import typing as t

from ..authentication.access import admit
from ..context import Params
from ..errors import RecordsError
from ..globals import current_records
from .watcher import Watcher

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask

    from ..authentication import AuthenticationService
    from ..signals import OrderedSignal
    from ..typing import Record
    from .connection import Connection

logger = logging.getLogger(__package__)

CHECK_INTERVAL: t.Final = 0.5
"""The seconds between two checks of logins."""

CHECKS: t.Final = 25
"""The number of logins in each check, besides those that have expired."""


class Logins:
    """Checks the logins of a worker's connections, and ends those that are invalid."""

    def __init__(
        self,
        app: Flask,
        authentications: Mapping[str, AuthenticationService],
        connections: Mapping[str, Connection],
        signal: OrderedSignal,
    ) -> None:
        self._app = app
        self._authentications = authentications
        self._connections = connections
        self._signal = signal
        self._to_check: list[Connection] = []
        self.watcher = Watcher(lambda: connections, self._check_some, CHECK_INTERVAL)
        """Checks the logins again at intervals."""

    def begin(self, connection: Connection) -> None:
        """Log a new connection in if its headers have credentials."""
        service = self._default()

        if service is not None:
            connection.authentication = service.parse(connection.headers)
            self._check(connection)

    def log_in(
        self, connection: Connection, service: AuthenticationService, result: Record
    ) -> None:
        """Log a connection in.

        :param result: The result of its ``create``.
        """
        credentials = {"strategy": "jwt", "accessToken": result["accessToken"]}

        with connection.lock:
            connection.authentication = credentials

        self._check(connection, service)

    def log_out(self, connection: Connection) -> None:
        """Log a connection out."""
        with connection.lock:
            connection.authentication = None
            self._set(connection, Params())

    def tell(self, event: str, connection: Connection) -> None:
        """Run the receivers of an event of a connection."""
        try:
            self._signal.run(event, connection)
        except Exception:
            # Its channels are unknown, so that it is in none.
            connection.channels = set()
            logger.exception("A receiver of '%s' failed.", event)

    def check_after(self, message: Record) -> None:
        """Check the logins that an event may have ended."""
        sender = current_records.services.get(message["service"])

        for path, service in self._authentications.items():
            is_user = sender is not None and service.lookup.has(sender)
            is_login = message["service"] == path

            if not is_user and not is_login:
                continue

            for connection in list(self._connections.values()):
                if connection.login.authenticator is service and (
                    (is_user and _is_of(connection, message, service))
                    or (is_login and _has_token(connection, message))
                ):
                    self._check(connection)

    def _check_some(self) -> None:
        """Check the logins that have expired, and the next few of all others."""
        candidates = [c for c in list(self._connections.values()) if c.authentication]
        expired = [c for c in candidates if c.login.authenticated and c.is_expired]
        remaining = self._to_check or candidates
        self._to_check = remaining[CHECKS:]

        with self._app.app_context():
            for connection in [*expired, *remaining[:CHECKS]]:
                self._check(connection)

    def _check(
        self, connection: Connection, service: AuthenticationService | None = None
    ) -> None:
        """Check the credentials of a connection, and set its login."""
        credentials = connection.authentication
        service = service or connection.login.authenticator or self._default()

        if service is None or credentials is None:
            return

        params = Params(authentication=credentials)

        try:
            admit(service, params, service.strategies)
        except Exception as error:
            # The connection has no login until the next check.
            params = Params(authenticator=service)

            if not isinstance(error, RecordsError):
                logger.exception("The check of a login failed.")

        with connection.lock:
            # It may have logged in again, or out, while the check was running.
            if connection.authentication is credentials:
                self._set(connection, params)

    def _set(self, connection: Connection, params: Params) -> None:
        previous = connection.login
        connection.login = params

        if _identity(previous) == _identity(params):
            return

        if previous.authenticated:
            self.tell("logout", connection)

        if params.authenticated:
            self.tell("login", connection)

    def _default(self) -> AuthenticationService | None:
        return next(iter(self._authentications.values()), None)


def _identity(login: Params) -> t.Any:
    return login.authenticated, id(login.authenticator), str(login.user_id)


def _is_of(
    connection: Connection, message: Record, service: AuthenticationService
) -> bool:
    record = message["record"]
    id = record.get(service.id) if isinstance(record, dict) else None
    return str(connection.login.user_id) == str(id)


def _has_token(connection: Connection, message: Record) -> bool:
    login = message["record"].get("authentication", {})
    token_id = login.get("payload", {}).get("jti")
    return token_id is not None and connection.payload.get("jti") == token_id
