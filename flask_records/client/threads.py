"""A client for programs with threads."""

from __future__ import annotations

import threading
import time
import typing as t
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import httpx

from .base import BaseClient
from .base import BaseService
from .calls import Call
from .calls import following
from .calls import Page
from .calls import Query
from .calls import R
from .calls import T
from .retries import Answer
from .retries import Retries
from .session import Renewal
from .session import Request
from .session import Steps
from .values import Form


class ThreadClient(BaseClient):
    """Calls the services of an application. Threads may share it.

    :param url: The address of the application.
    :param token: An access token. :meth:`log_in` gets one.
    :param timeout: The seconds that the parts of a request may take.
    :param retries: The calls that are made again.
    :param http: The client that sends requests, for other settings. The program closes
        it.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 10,
        retries: Retries | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(url, token, retries)
        self._http = httpx.Client(timeout=timeout) if http is None else http
        self._owns_http = http is None
        self._renewing = threading.Lock()
        self._functions = ThreadPoolExecutor(1, "events")

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def log_out(self) -> None:
        """End the login."""
        self._take(self._session.log_out())

    def renew(self) -> None:
        """Log in again with the credentials of the last login. A call with a token that
        is not valid any more does so by itself.

        :raises NotAuthenticated: There are none.
        """
        self._take(self._session.renew())

    def connect(self) -> None:
        """Connect for events, until the client is closed.

        :raises Unreachable: There is no connection.
        :raises NotAuthenticated: The token is not valid.
        """
        try:
            self._listener.connect().result()
        except Exception:
            self._listener.close()
            raise

    def close(self) -> None:
        """Disconnect, and close the connections of calls."""
        self._listener.close()
        self._functions.shutdown(wait=False)

        if self._owns_http:
            self._http.close()

    def _log_in(self, strategy: str, credentials: Mapping[str, object]) -> t.Any:
        return self._take(self._session.log_in({"strategy": strategy, **credentials}))

    def _run(self, call: Call[T]) -> T:
        return self._take(self._session.steps(call))

    def _take(self, steps: Steps[T]) -> T:
        """Take the steps of a call, and return its result."""
        answer: Answer | None = None

        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return t.cast(T, end.value)

            answer = None

            if isinstance(step, Request):
                answer = self._send(step)
            elif isinstance(step, Renewal):
                self._renew(step.token)
            else:
                time.sleep(step.seconds)

    def _send(self, request: Request) -> Answer:
        try:
            return self._http.request(
                request.verb,
                request.url,
                content=request.content,
                headers=request.headers,
            )
        except httpx.TransportError as error:
            return error

    def _renew(self, token: str | None) -> None:
        with self._renewing:
            if self._session.token == token:
                self.renew()

    def _renew_in_thread(self, token: str | None) -> None:
        self._renew(token)

    def _deliver(self, function: Callable[..., object], *values: object) -> None:
        self._functions.submit(self._call, function, *values)

    def _call(self, function: Callable[..., object], *values: object) -> None:
        try:
            function(*values)
        except Exception:
            self._log(function)


class ThreadService(BaseService[R]):
    """A service, as a program with threads calls it."""

    def __init__(self, client: ThreadClient, path: str, form: Form) -> None:
        super().__init__(client, path, form)
        self._run = client._run

    def _all(self, query: Query) -> Iterator[R]:
        pending: Query = query or {}

        while pending is not None:
            page: Page[R] = self._run(self._calls.find(pending))
            yield from page.data
            pending = following(pending, page)
