"""The logins of connections, and when they end."""

from __future__ import annotations

import logging
import math
import time
import typing as t
from collections import defaultdict

from ..authentication.access import admit
from ..authentication.strategies import ACCESS_TOKEN
from ..authentication.tokens import ENDING
from ..errors import Forbidden, Unavailable
from ..service.context import Params
from .connections import LOAD_ANEW

if t.TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..authentication import AuthenticationService
    from ..signals import OrderedSignal
    from ..typing import Record
    from .connections import Connection
    from .messages import Message
    from .server import Server

logger = logging.getLogger(__package__)

INTERVAL: t.Final = 1
"""The seconds between two checks of logins."""

CHECKS: t.Final = 25
"""The number of logins in each check, besides those that have expired."""


class Logins:
    """Checks the logins of a worker's connections, and ends those that are invalid."""

    def __init__(self, server: Server, signal: OrderedSignal) -> None:
        self._server = server
        self._authentications = server.records.authentications
        self._connections = server.connections
        self._signal = signal
        self._to_check: list[Connection] = []

    def admit(self, connection: Connection) -> Params:
        """Return the login of a new connection, by the credentials in its headers.

        :raises Exception: The credentials are invalid, or can't be checked.
        """
        service = self._default()

        if service is None:
            return Params()

        credentials = service.parse(connection.headers, service.strategies)

        if credentials is None:
            return Params()

        connection.authentication = credentials
        return _admit(service, credentials)

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
        token, name = result[ACCESS_TOKEN], result["authentication"]["strategy"]
        is_own = service.has_signed(token)
        credentials = {"strategy": "jwt" if is_own else name, ACCESS_TOKEN: token}

        with connection.lock:
            connection.authentication = credentials

        self._check([connection], service)

    def log_out(self, connection: Connection) -> None:
        """Log a connection out."""
        with connection.lock:
            connection.authentication = None
            self._set(connection, Params())

    def announce(self, event: str, connection: Connection) -> None:
        """Run the receivers of an event of a connection."""
        try:
            self._signal.run(event, connection)
        except Exception:
            # The channels of the login are unknown, so that it is in none.
            connection.channels = set()
            logger.exception("A receiver of '%s' failed.", event)

    def check_after(self, messages: Iterable[Message]) -> None:
        """Check the logins that events may have ended, or whose users have changed."""
        ids: dict[AuthenticationService, set[str]] = defaultdict(set)

        for message in messages:
            sender, record = self._server.records.services.get(message.service), {}

            if isinstance(message.record, dict):
                record = message.record

            for path, service in self._authentications.items():
                if sender is not None and service.lookup.has(sender):
                    ids[service].add(str(record.get(service.id)))

                if message.service == path:
                    login = record.get("authentication", {})
                    ids[service] |= _ids_in(login.get("payload", {}))

        for service in ids:
            self._check(self._of(service, ids[service] - {"None"}))

    def watch(self) -> None:
        """Check logins at intervals, until the server stops."""
        while not self._server.is_stopped:
            time.sleep(INTERVAL)

            try:
                with self._server.app.app_context():
                    self._check_some()
            except Exception:
                logger.exception("A check of connections failed.")

    def _check_some(self) -> None:
        """Check the logins that have expired, and the next few of all others."""
        candidates = [c for c in self._connections.all() if c.authentication]
        logins = [c for c in candidates if c.login.authenticated]
        expired = [c for c in logins if not c.is_logged_in]
        remaining = self._to_check or candidates
        self._to_check = remaining[CHECKS:]
        self._check([*expired, *remaining[:CHECKS]], is_routine=True)

    def _of(self, service: AuthenticationService, ids: set[str]) -> list[Connection]:
        """Return the connections of users, of tokens or of sessions of a service."""
        return [
            connection
            for connection in self._connections.all()
            if connection.login.authenticator is service
            and not ids.isdisjoint(
                {str(connection.login.user_id), *_ids_in(connection.payload)}
            )
        ]

    def _check(
        self,
        connections: Sequence[Connection],
        service: AuthenticationService | None = None,
        *,
        is_routine: bool = False,
    ) -> None:
        """Check the credentials of connections, once for all that have the same.

        :param is_routine: There is no reason to think that they have changed. Logins
            that can't be checked are kept. The connections end otherwise.
        """
        groups: dict[t.Any, dict[Connection, Record]] = defaultdict(dict)

        for connection in connections:
            credentials = connection.authentication
            issuer = service or connection.login.authenticator or self._default()

            if issuer is not None and credentials is not None:
                groups[issuer, repr(credentials)][connection] = credentials

        for (issuer, _), group in groups.items():
            self._check_same(issuer, group, is_routine)

    def _check_same(
        self,
        service: AuthenticationService,
        group: Mapping[Connection, Record],
        is_routine: bool,
    ) -> None:
        refusal, login = None, Params(authenticator=service)

        try:
            login = _admit(service, next(iter(group.values())))
        except Exception as error:
            failure = "The check of a login failed."
            refusal = self._server.records.errors.report(error, failure)

            if refusal.code is None or refusal.code >= 500:
                if not (is_routine and isinstance(refusal, Unavailable)):
                    self._server.tell([*group], "end", LOAD_ANEW)

                return

        for connection, credentials in group.items():
            with connection.lock:
                # The client may have logged in again, or out, during the check.
                if connection.authentication is credentials:
                    had_login = connection.login.authenticated
                    self._set(connection, login)

                    if refusal is not None and had_login:
                        self._server.log_out(connection, str(refusal))

    def _set(self, connection: Connection, params: Params) -> None:
        previous = connection.login
        connection.login = params
        connection.expires_at = connection.payload.get("exp", math.inf)

        if _identity(previous) == _identity(params):
            return

        if previous.authenticated:
            self.announce("logout", connection)

        if params.authenticated:
            self.announce("login", connection)

    def _default(self) -> AuthenticationService | None:
        return next(iter(self._authentications.values()), None)


def _admit(service: AuthenticationService, credentials: Record) -> Params:
    login = Params(authentication=credentials)
    admit(service, login, service.strategies)

    # Events know no scopes.
    if "scopes" in (login.authentication or {}):
        raise Forbidden("An API key opens no connection for events.")

    return login


def _identity(login: Params) -> t.Any:
    return login.authenticated, id(login.authenticator), str(login.user_id)


def _ids_in(payload: Record) -> set[str]:
    """Return the identifiers of a token and of its session, by its claims."""
    return {str(payload.get(name)) for name in ENDING}
