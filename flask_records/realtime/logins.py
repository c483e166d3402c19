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
    from collections.abc import Callable, Mapping

    from flask import Flask

    from ..authentication import AuthenticationService
    from ..signals import OrderedSignal
    from ..typing import Record
    from .connection import Connection
    from .connections import Connections

logger = logging.getLogger(__package__)

CHECK_INTERVAL: t.Final = 0.5
"""The seconds between two checks of logins."""

CLIENT_ERRORS: t.Final = range(400, 500)
"""The codes of errors that the client can fix."""

CHECKS: t.Final = 25
"""The number of logins in each check, besides those that have expired."""


LOGGED_OUT: t.Final = "loggedOut"
"""The event that tells a client the reason for which its login is over."""


class Logins:
    """Checks the logins of a worker's connections, and ends those that are invalid.

    :param signal: The receivers of events of connections.
    :param send: Sends an event to a connection, after the events before.
    """

    def __init__(
        self,
        app: Flask,
        authentications: Mapping[str, AuthenticationService],
        connections: Connections,
        signal: OrderedSignal,
        send: Callable[[str, Record, Connection], None],
    ) -> None:
        self._app = app
        self._authentications = authentications
        self._connections = connections
        self._signal = signal
        self._send = send
        self._to_check: list[Connection] = []
        self.watcher = Watcher(lambda: connections, self._check_some, CHECK_INTERVAL)
        """Checks the logins again at intervals."""

    def admit(self, connection: Connection) -> Params:
        """Return the login of a new connection, by the credentials in its headers.

        :raises RecordsError: The credentials are invalid.
        """
        service = self._default()
        credentials = None if service is None else service.parse(connection.headers)

        if service is None or credentials is None:
            return Params()

        connection.authentication = credentials

        try:
            return _admitted(service, credentials)
        except Exception as error:
            if _is_for_client(error):
                raise

            return _without_login(service, error)

    def begin(self, connection: Connection, login: Params) -> None:
        """Set the first login of a connection."""
        with connection.lock:
            self._set(connection, login)

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
            connection.expects_login = False
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
            ids = []

            if sender is not None and service.lookup.has(sender):
                ids.append(_user_id_of(message, service))

            if message["service"] == path:
                ids.append(_token_id_of(message))

            for id in ids:
                for connection in self._connections.with_login(id):
                    if connection.login.authenticator is service:
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

        refusal: RecordsError | None = None

        try:
            login = _admitted(service, credentials)
        except Exception as error:
            login = _without_login(service, error)
            refusal = error if _is_for_client(error) else None

        with connection.lock:
            # It may have logged in again, or out, while the check was running.
            if connection.authentication is credentials:
                self._set(connection, login)

                if refusal is not None and connection.expects_login:
                    connection.expects_login = False
                    self._send(LOGGED_OUT, {"message": str(refusal)}, connection)

    def _set(self, connection: Connection, params: Params) -> None:
        previous = connection.login
        connection.set_login(params)
        connection.expects_login |= params.authenticated

        if _identity(previous) == _identity(params):
            return

        if previous.authenticated:
            self.tell("logout", connection)

        if params.authenticated:
            self.tell("login", connection)

    def _default(self) -> AuthenticationService | None:
        return next(iter(self._authentications.values()), None)


def _admitted(service: AuthenticationService, credentials: Record) -> Params:
    """Return the login of credentials that are valid."""
    login = Params(authentication=credentials)
    admit(service, login, service.strategies)
    return login


def _is_for_client(error: Exception) -> t.TypeGuard[RecordsError]:
    return isinstance(error, RecordsError) and error.code in CLIENT_ERRORS


def _without_login(service: AuthenticationService, error: Exception) -> Params:
    """Return the params of a connection that has no login until the next check."""
    if not isinstance(error, RecordsError):
        logger.error("The check of a login failed.", exc_info=error)

    return Params(authenticator=service)


def _identity(login: Params) -> t.Any:
    return login.authenticated, id(login.authenticator), str(login.user_id)


def _user_id_of(message: Record, service: AuthenticationService) -> t.Any:
    record = message["record"]
    return record.get(service.id) if isinstance(record, dict) else None


def _token_id_of(message: Record) -> t.Any:
    login = message["record"].get("authentication", {})
    return login.get("payload", {}).get("jti")
