"""Who has logged in with a connection, as long as that is valid."""

from __future__ import annotations

import logging
import threading
import typing as t

from ..authentication.access import admit
from ..context import Params
from ..errors import RecordsError
from ..globals import current_records

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    from flask import Flask

    from ..authentication import AuthenticationService
    from ..signals import OrderedSignal
    from ..typing import Record
    from .connection import Connection

logger = logging.getLogger(__package__)

PAUSE: t.Final = 0.5
"""How many seconds pass until logins are looked at again."""

CHECKS: t.Final = 25
"""How many logins are looked at then, beside those that have expired."""


class Logins:
    """Finds out who has logged in with the connections of this worker, and when a login
    has ended.

    :param app: The application.
    :param authentications: The authentication services, by path.
    :param connections: The connections, by their ids.
    :param signal: What is told of logins.
    """

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
        self._watching = threading.Lock()
        self._is_watching = False
        self._to_check: list[Connection] = []

    def begin(self, connection: Connection) -> None:
        """Look whether a connection has begun with a login.

        :param connection: The connection.
        """
        service = self._default()

        if service is not None:
            connection.authentication = service.parse(connection.headers)
            self._check(connection)

    def log_in(
        self, connection: Connection, service: AuthenticationService, result: Record
    ) -> None:
        """Let a connection make its calls as a user.

        :param connection: The connection.
        :param service: Who has issued the token.
        :param result: What it has answered.
        """
        with connection.lock:
            connection.authentication = {
                "strategy": "jwt",
                "accessToken": result["accessToken"],
            }

        self._check(connection, service)

    def log_out(self, connection: Connection) -> None:
        """Let a connection make its calls as nobody.

        :param connection: The connection.
        """
        with connection.lock:
            connection.authentication = None
            self._set(connection, Params())

    def tell(self, event: str, connection: Connection) -> None:
        """Tell the application what has happened to a connection.

        :param event: What has happened.
        :param connection: The connection.
        """
        try:
            self._signal.run(event, connection)
        except Exception:
            # Who can't be told his channels is in none.
            connection.channels = set()
            logger.exception("A receiver of '%s' failed.", event)

    def look_again(self, message: Record) -> None:
        """Check the logins that an event may have ended.

        :param message: The event, as workers tell it each other.
        """
        sender = current_records.services.get(message["service"])

        for path, service in self._authentications.items():
            is_user = sender is not None and service.lookup.has(sender)

            if not is_user and message["service"] != path:
                continue

            for connection in list(self._connections.values()):
                if connection.login.authenticator is not service:
                    continue

                if (is_user and _is_of(connection, message, service)) or (
                    path == message["service"] and _has_token(connection, message)
                ):
                    self._check(connection)

    def watch(
        self,
        start: Callable[[Callable[[], None]], t.Any],
        sleep: Callable[[float], t.Any],
    ) -> None:
        """Look at logins again and again, as long as there are connections.

        :param start: Starts a function in the background.
        :param sleep: Waits there.
        """

        def look() -> None:
            while self._is_needed():
                sleep(PAUSE)
                self._look_at_some()

        with self._watching:
            if not self._is_watching:
                self._is_watching = True
                start(look)

    def _is_needed(self) -> bool:
        with self._watching:
            self._is_watching = bool(self._connections)
            return self._is_watching

    def _look_at_some(self) -> None:
        try:
            with self._app.app_context():
                self._check_some()
        except Exception:
            logger.exception("Logins could not be looked at.")

    def _check_some(self) -> None:
        known = [c for c in list(self._connections.values()) if c.authentication]

        for connection in known:
            if connection.login.authenticated and connection.is_expired:
                self._check(connection)

        if not self._to_check:
            self._to_check = known

        some, self._to_check = self._to_check[:CHECKS], self._to_check[CHECKS:]

        for connection in some:
            self._check(connection)

    def _check(
        self, connection: Connection, service: AuthenticationService | None = None
    ) -> None:
        """Find out whether the login of a connection is valid, and for whom."""
        known = connection.authentication
        service = service or connection.login.authenticator or self._default()

        if service is None or known is None:
            return

        params = Params(authentication=known)

        try:
            admit(service, params, service.strategies)
        except RecordsError:
            params = Params(authenticator=service)
        except Exception:
            # Nobody can say who this is, until it is looked at again.
            logger.exception("A login could not be looked at.")
            params = Params(authenticator=service)

        with connection.lock:
            # There may have been another login meanwhile, or none any more.
            if connection.authentication is known:
                self._set(connection, params)

    def _set(self, connection: Connection, params: Params) -> None:
        before = connection.login
        connection.login = params
        is_same = _who(before) == _who(params)

        if before.authenticated and not is_same:
            self.tell("logout", connection)

        if params.authenticated and not is_same:
            self.tell("login", connection)

    def _default(self) -> AuthenticationService | None:
        return next(iter(self._authentications.values()), None)


def _who(login: Params) -> t.Any:
    return login.authenticated, id(login.authenticator), str(login.user_id)


def _is_of(
    connection: Connection, message: Record, service: AuthenticationService
) -> bool:
    record = message["record"]
    id = record.get(service.id) if isinstance(record, dict) else None
    return str(connection.login.user_id) == str(id)


def _has_token(connection: Connection, message: Record) -> bool:
    known = message["record"].get("authentication", {})
    token = known.get("payload", {}).get("jti")
    return token is not None and connection.payload.get("jti") == token
