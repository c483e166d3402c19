"""The parts of clients that do not wait."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from urllib.parse import unquote

from .calls import Calls
from .calls import R
from .listener import Listener
from .retries import Retries
from .session import Session
from .socket_login import LOGGER
from .socket_login import SocketLogin
from .values import Form


class BaseClient:
    """The login and the events of a client.

    :param url: The address of the application.
    :param token: An access token.
    :param retries: The calls that are made again.
    """

    PREFIX = ""
    LOGIN_PATH = "authentication"
    SOCKET_PATH = "socket.io"

    def __init__(self, url: str, token: str | None, retries: Retries | None) -> None:
        root = url.rstrip("/")
        self._session = Session(
            f"{root}{self.PREFIX}", self.LOGIN_PATH, token, retries or Retries()
        )
        login = SocketLogin(self.LOGIN_PATH, self._session, self._renew_in_thread)
        self._listener = Listener(root, self.SOCKET_PATH, login, self._deliver)
        self._session.changed = self._listener.refresh

    @property
    def token(self) -> str | None:
        """The access token, or ``None`` without a login."""
        return self._session.token

    @token.setter
    def token(self, token: str | None) -> None:
        self._session.token = token

    def on_connect(self, function: Callable[[], object]) -> None:
        """Call a function after each connection: events before it may be missed."""
        self._listener.on_connect(function)

    def _renew_in_thread(self, token: str | None) -> None:
        """Log in again, unless the token is another one already."""
        raise NotImplementedError

    def _deliver(self, function: Callable[..., object], *values: object) -> None:
        """Call a function of the program soon."""
        raise NotImplementedError

    def _log(self, function: Callable[..., object]) -> None:
        """Log the error of a function of the program."""
        LOGGER.exception("Error in %r", function)


class BaseService(t.Generic[R]):
    """The events of a service.

    :param path: The path of the service, encoded.
    :param form: The form of its records.
    """

    def __init__(self, client: BaseClient, path: str, form: Form) -> None:
        self._listener = client._listener
        self._calls: Calls[R] = Calls(path, form)

    def _on(self, event: str, function: Callable[..., object]) -> Callable[[], None]:
        name = f"{unquote(self._calls.path)} {event}"
        return self._listener.on(name, function, self._calls.record)
