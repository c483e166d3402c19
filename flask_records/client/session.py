"""The login of a client, and its calls as steps."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Mapping

import httpx

from .calls import Call
from .calls import T
from .errors import error_of
from .errors import NotAuthenticated
from .errors import RecordsError
from .errors import Unreachable
from .retries import Answer
from .retries import Retries
from .values import query_string
from .values import to_json

JSON: t.Final = "application/json"

NO_CREDENTIALS: t.Final = "There is nothing to log in with again: call 'log_in'."

OTHER_FORM: t.Final = "The answer has another form than this module: make it again."


class Request(t.NamedTuple):
    """A step of a call: send this."""

    verb: str
    url: str
    content: bytes | None
    headers: Mapping[str, str]


class Pause(t.NamedTuple):
    """A step of a call: wait for some seconds."""

    seconds: float


class Renewal(t.NamedTuple):
    """A step of a call: log in again, unless another call has done so.

    :param token: The token that is not valid any more.
    """

    token: str | None


Steps: t.TypeAlias = "Generator[Request | Pause | Renewal, Answer | None, T]"
"""The steps of a call, each of which gets the answer to a request, or ``None``."""


class Session:
    """The login of a client, and the steps of its calls. It neither sends nor waits, so
    that threads and event loops use the same steps.

    :param url: The address of all services, with their prefix.
    :param login_path: The path of the authentication service.
    :param token: An access token, if there is one already.
    :param retries: The calls that are made again.
    """

    def __init__(
        self, url: str, login_path: str, token: str | None, retries: Retries
    ) -> None:
        self._url = url
        self._login_path = login_path
        self._token = token
        self._retries = retries
        self.credentials: Mapping[str, object] | None = None
        """The credentials of the last login, until the logout."""
        self.changed: Callable[[], None] = lambda: None
        """Gets to know that there is another token."""

    @property
    def token(self) -> str | None:
        """The access token of calls, or ``None`` without a login."""
        return self._token

    @token.setter
    def token(self, token: str | None) -> None:
        has_changed = token != self._token
        self._token = token

        if has_changed:
            self.changed()

    def steps(self, call: Call[T]) -> Steps[T]:
        """Yield the steps of a call, and return its result.

        :raises RecordsError: It has failed.
        """
        may_renew, done, waited = not call.is_login, 0, 0.0

        while True:
            token = self.token
            answer = yield self._request(call, token)
            assert answer is not None

            if may_renew and self.credentials and _is_login_over(answer):
                may_renew = False
                yield Renewal(token)
                continue

            pause = self._retries.pause(call, answer, done, waited)

            if pause is None:
                return _result(call, answer)

            done, waited = done + 1, waited + pause
            yield Pause(pause)

    def log_in(self, credentials: Mapping[str, object]) -> Steps[t.Any]:
        """Yield the steps of a login, and return it.

        :param credentials: The strategy, and what it takes.
        """
        path = self._login_path
        call = Call("POST", path, dict, data=credentials, is_login=True)
        login = yield from self.steps(call)
        self.credentials = credentials
        self.token = login.get("accessToken")
        return login

    def log_out(self) -> Steps[None]:
        """Yield the steps of a logout."""
        self.credentials = None
        token = self.token

        if token is None:
            return

        try:
            yield from self.steps(Call("DELETE", self._login_path, lambda _: None))
        except NotAuthenticated:
            # The login is over already.
            pass
        finally:
            self.token = None

    def renew(self) -> Steps[t.Any]:
        """Yield the steps of a login with the credentials of the last one.

        :raises NotAuthenticated: There are none.
        """
        if self.credentials is None:
            raise NotAuthenticated(NO_CREDENTIALS)

        return (yield from self.log_in(self.credentials))

    def _request(self, call: Call[t.Any], token: str | None) -> Request:
        query = query_string(call.query or {})
        url = f"{self._url}/{call.path}{'?' if query else ''}{query}"
        has_body = call.data is not None
        headers = {
            "Accept": JSON,
            **({"Content-Type": JSON} if has_body else {}),
            **({} if token is None else {"Authorization": f"Bearer {token}"}),
            **call.headers,
        }
        content = to_json(call.data) if has_body else None
        return Request(call.verb, url, content, headers)


def _is_login_over(answer: Answer) -> bool:
    return isinstance(answer, httpx.Response) and answer.status_code == 401


def _result(call: Call[T], answer: Answer) -> T:
    if isinstance(answer, Exception):
        raise Unreachable(f"{type(answer).__name__}: {answer}") from answer

    body: t.Any = None

    if answer.content:
        try:
            body = answer.json()
        except ValueError:
            body = answer

    if answer.status_code >= 300 or body is answer:
        text = f"{answer.status_code} {answer.reason_phrase}: no answer of a service"
        raise error_of(body, answer.status_code, text)

    try:
        return call.read(body)
    except (KeyError, TypeError) as error:
        raise RecordsError(OTHER_FORM, answer.status_code) from error
