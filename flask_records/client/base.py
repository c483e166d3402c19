"""The parts of clients that do not wait."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from collections.abc import Mapping
from functools import partial
from urllib.parse import unquote

from .calls import Calls
from .calls import R
from .listener import Listener
from .receivers import Receivers
from .retries import Retries
from .session import Session
from .socket_login import LOGGER
from .socket_login import SocketLogin
from .values import Form
from .values import read


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
        self._receivers = Receivers(self._deliver)
        self._listener = Listener(root, self.SOCKET_PATH, login, self._receivers)
        self._session.changed = self._listener.refresh

    @property
    def token(self) -> str | None:
        """The access token, or ``None`` without a login."""
        return self._session.token

    @token.setter
    def token(self, token: str | None) -> None:
        self._session.token = token

    def on_connect(self, function: Callable[[bool], object]) -> None:
        """Call a function after each connection. It gets ``True`` if no event was
        missed since the last time, or all will still come.
        """
        self._receivers.on_connect(function)

    def on_end(self, function: Callable[[str], object]) -> None:
        """Call a function with the reason once events have ended: the login is over and
        can't be renewed, or the application has ended the connection.
        """
        self._receivers.on_end(function)

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
        self._receivers = client._receivers
        self._calls: Calls[R] = Calls(path, form)
        self._form = form

    def _on(
        self,
        event: str,
        function: Callable[..., object],
        forms: Mapping[str, Form],
    ) -> Callable[[], None]:
        """Call a function at an event.

        :param forms: The forms of the data of events that have no record, by name.
        """
        name = f"{unquote(self._calls.path)} {event}"
        form = forms.get(event, self._form)
        return self._receivers.on(name, function, partial(read, form=form))
