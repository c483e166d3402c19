"""A client for programs with an event loop."""

from __future__ import annotations

import asyncio
import inspect
import typing as t
from collections.abc import AsyncIterator
from collections.abc import Callable
from collections.abc import Mapping

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


class LoopClient(BaseClient):
    """Calls the services of an application. The tasks of one event loop may share it.

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
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(url, token, retries)
        self._http = httpx.AsyncClient(timeout=timeout) if http is None else http
        self._owns_http = http is None
        self._renewing = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> t.Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def log_out(self) -> None:
        """End the login."""
        await self._take(self._session.log_out())

    async def renew(self) -> None:
        """Log in again with the credentials of the last login. A call with a token that
        is not valid any more does so by itself.

        :raises NotAuthenticated: There are none.
        """
        await self._take(self._session.renew())

    async def connect(self) -> None:
        """Connect for events, until the client is closed.

        :raises Unreachable: There is no connection.
        :raises NotAuthenticated: The token is not valid.
        """
        self._loop = asyncio.get_running_loop()

        try:
            # A program that gives up may wait again.
            await asyncio.shield(asyncio.wrap_future(self._listener.connect()))
        except Exception:
            await asyncio.to_thread(self._listener.close)
            raise

    async def close(self) -> None:
        """Disconnect, and close the connections of calls."""
        await asyncio.to_thread(self._listener.close)

        if self._owns_http:
            await self._http.aclose()

    async def _log_in(self, strategy: str, credentials: Mapping[str, object]) -> t.Any:
        data = {"strategy": strategy, **credentials}
        return await self._take(self._session.log_in(data))

    async def _run(self, call: Call[T]) -> T:
        return await self._take(self._session.steps(call))

    async def _take(self, steps: Steps[T]) -> T:
        """Take the steps of a call, and return its result."""
        answer: Answer | None = None

        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return t.cast(T, end.value)

            answer = None

            if isinstance(step, Request):
                answer = await self._send(step)
            elif isinstance(step, Renewal):
                await self._renew(step.token)
            else:
                await asyncio.sleep(step.seconds)

    async def _send(self, request: Request) -> Answer:
        try:
            return await self._http.request(
                request.verb,
                request.url,
                content=request.content,
                headers=request.headers,
            )
        except httpx.TransportError as error:
            return error

    async def _renew(self, token: str | None) -> None:
        async with self._renewing:
            if self._session.token == token:
                await self.renew()

    def _renew_in_thread(self, token: str | None) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._renew(token), self._loop).result()

    def _deliver(self, function: Callable[..., object], *values: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._start, function, *values)

    def _start(self, function: Callable[..., object], *values: object) -> None:
        task = asyncio.ensure_future(self._call(function, *values))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call(self, function: Callable[..., object], *values: object) -> None:
        try:
            result = function(*values)

            if inspect.isawaitable(result):
                await result
        except Exception:
            self._log(function)


class LoopService(BaseService[R]):
    """A service, as a program with an event loop calls it."""

    def __init__(self, client: LoopClient, path: str, form: Form) -> None:
        super().__init__(client, path, form)
        self._run = client._run

    async def _all(self, query: Query) -> AsyncIterator[R]:
        pending: Query = query or {}

        while pending is not None:
            page: Page[R] = await self._run(self._calls.find(pending))

            for record in page.data:
                yield record

            pending = following(pending, page)
