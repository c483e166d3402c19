"""The login of a connection."""

from __future__ import annotations

import asyncio
import logging
import time
import typing as t
from collections.abc import Callable
from contextlib import suppress

from .errors import error_of
from .errors import NotAuthenticated
from .errors import RecordsError
from .session import Session

LOGGER = logging.getLogger("flask_records.client")

SECONDS: t.Final = 20
"""How long a connection, or an answer over it, is waited for."""

EARLY: t.Final = 0.1
"""The part of its time that a token still has when there is a new login."""


class SocketLogin:
    """Gives connections the login of the client, and renews it before its token
    expires.

    :param path: The path of the authentication service.
    :param session: The login of the client. A renewal changes it.
    :param renew: Logs the client in again, if its token is still this one.
    """

    def __init__(
        self, path: str, session: Session, renew: Callable[[str | None], object]
    ) -> None:
        self._path = path
        self._session = session
        self._renew = renew
        self._timer: asyncio.TimerHandle | None = None
        self._has_renewed = False

    async def send(self, socket: t.Any) -> bool:
        """Log a connection in or out, as the client is. Return ``False`` if the token
        is not valid any more, after a new login whose token has to be sent.

        :raises RecordsError: The server has refused the login.
        """
        token = self._session.token
        self.stop()

        if token is None:
            # Most connections without a token have no login to end.
            with suppress(RecordsError):
                await self._call(socket, "remove", None)

            return True

        credentials = {"strategy": "jwt", "accessToken": token}

        try:
            login = await self._call(socket, "create", credentials)
        except NotAuthenticated:
            if self._has_renewed or self._session.credentials is None:
                raise

            await asyncio.to_thread(self._renew, token)
            self._has_renewed = True
            return False

        self._has_renewed = False
        self._renew_later(token, login)
        return True

    def stop(self) -> None:
        """Renew nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    async def _call(self, socket: t.Any, method: str, data: object) -> t.Any:
        answer = await socket.call(method, (self._path, data), timeout=SECONDS)
        error, result = answer if isinstance(answer, tuple) else (answer, None)

        if error is not None:
            raise error_of(error, error.get("code", 0), "The login has failed.")

        return result

    def _renew_later(self, token: str, login: t.Any) -> None:
        """Log in again before a token expires, if there are credentials."""
        claims = login.get("authentication", {}).get("payload", {})

        if self._session.credentials is None or not {"exp", "iat"} <= claims.keys():
            return

        loop = asyncio.get_running_loop()
        pause = claims["exp"] - time.time()
        margin = EARLY * (claims["exp"] - claims["iat"])
        self._timer = loop.call_later(
            max(1, pause - margin),
            loop.run_in_executor,
            None,
            self._renew_or_log,
            token,
        )

    def _renew_or_log(self, token: str) -> None:
        try:
            self._renew(token)
        except RecordsError as error:
            LOGGER.error("The login can't be renewed: %s", error)
