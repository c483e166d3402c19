"""The views of logins at OAuth providers."""

from __future__ import annotations

import json
import re
import typing as t

from authlib.common.errors import AuthlibBaseError
from flask import Blueprint
from flask import current_app
from flask import request
from flask import Response
from flask import url_for
from joserfc.errors import JoseError
from requests import RequestException

from ..context import Params
from ..errors import BadRequest
from ..errors import Conflict
from ..errors import MethodNotAllowed
from ..errors import NotAuthenticated
from ..errors import NotFound
from ..errors import RecordsError
from ..errors import Unavailable
from ..http.body import parse_json
from ..http.body import read_body
from ..http.formatter import dumps
from ..http.formatter import empty
from ..http.formatter import JSON
from ..http.headers import forbid_sniffing
from ..http.routes import routes_of
from ..transaction import Transaction
from .limits import count_view
from .oauth_client import client_options
from .oauth_client import Conversations
from .oauth_client import ProviderClient
from .oauth_client import raw_profile
from .oauth_client import Registry
from .oauth_client import TooBusy
from .oauth_connect import Connections
from .oauth_cookies import LoginCookies
from .oauth_strategy import LOGIN
from .oauth_strategy import OAuthLogin
from .oauth_strategy import OAuthStrategy

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask
    from flask.typing import ResponseReturnValue

    from ..typing import BodyParser
    from ..typing import Record
    from .oauth_settings import OAuthSettings
    from .providers import Provider
    from .service import AuthenticationService

MAX_BODY: t.Final = 64 * 1024
"""The number of bytes of the largest body."""

FORM: t.Final = "application/x-www-form-urlencoded"

ERROR_CODE = re.compile("[a-z_]{1,40}")
"""An error code of OAuth."""

DENIED: t.Final = "The login was cancelled."

LOST: t.Final = "The login took too long, or began in another browser. Try again."

PROVIDER_ERRORS: tuple[type[Exception], ...] = (
    AttributeError,
    AuthlibBaseError,
    JoseError,
    LookupError,
    RequestException,
    RuntimeError,
    TimeoutError,
    TypeError,
    ValueError,
)
"""The errors of a provider that does not respond, or whose response is invalid."""


def add_views(app: Flask, service: AuthenticationService) -> None:
    """Add the views of an authentication service to an application.

    :raises RuntimeError: A provider has a strategy's name, or there are views already.
    """
    settings = service.settings_of(app)
    place = f"{settings.name}['oauth']"

    for name in settings.oauth.providers:
        if not isinstance(service.strategy(name), OAuthStrategy):
            raise RuntimeError(f"{place}[{name!r}] has the name of a strategy.")

    if any(name.endswith("records_oauth") for name in app.blueprints):
        raise RuntimeError(
            f"{place} is the second one: only one authentication service of an"
            " application can have providers."
        )

    views = OAuthBlueprint(app, service, settings.oauth).make()
    routes_of(app).add(app, views)


class OAuthBlueprint:
    """The views of an authentication service in one application: those in the last two
    rows of section 4.1 of the specification, and one to connect a login.

    :raises RuntimeError: There is no secret to sign with.
    """

    def __init__(
        self, app: Flask, service: AuthenticationService, settings: OAuthSettings
    ) -> None:
        self._service = service
        self._settings = settings
        self._cookies = LoginCookies(app, service)
        self._connections = Connections(app, service)
        registry = Registry()
        self._clients: dict[str, ProviderClient] = {
            name: registry.register(name, **client_options(provider))
            for name, provider in settings.providers.items()
        }
        registry.init_app(app)
        self._conversations = {
            name: Conversations(settings.max_conversations)
            for name in settings.providers
        }

    def make(self) -> Blueprint:
        """Return the blueprint."""
        blueprint = Blueprint("records_oauth", __package__, url_prefix="/oauth")
        blueprint.add_url_rule("/<provider>", "start", self._start)
        blueprint.add_url_rule(
            "/<provider>", "connect", self._connect, methods=["POST"]
        )
        blueprint.add_url_rule(
            "/<provider>/callback", "callback", self._callback, methods=["GET", "POST"]
        )
        blueprint.after_request(_keep_private)
        return blueprint

    def _connect(self, provider: str) -> ResponseReturnValue:
        self._provider(provider)
        count_view("start")
        claims = self._connections.caller()
        query = self._connect_query()
        response = Response(status=201, mimetype=JSON)
        url = self._url("start", provider)
        address = self._connections.add_address(response, url, claims, query)
        response.data = dumps({"url": address})
        return response

    def _connect_query(self) -> dict[str, str]:
        """Return the parameters that the caller asks for in a one-time address."""
        if request.args:
            raise BadRequest("Send 'redirect' in the body.")

        if not request.content_length and "Transfer-Encoding" not in request.headers:
            return {}

        data = _body({JSON: parse_json})
        query = data if isinstance(data, dict) else {"": data}
        redirect = query.get("redirect", "")

        if query.keys() - {"redirect"} or not isinstance(redirect, str):
            raise BadRequest("The body must be an object with 'redirect', or nothing.")

        self._settings.redirects.target(redirect)
        return {"redirect": redirect} if redirect else {}

    def _start(self, provider: str) -> ResponseReturnValue:
        chosen = self._provider(provider)
        count_view("start")
        query = request.args.to_dict()
        target = self._settings.redirects.target(query.pop("redirect", ""))
        url = self._url("start", provider)

        try:
            link = self._connections.take(url, query)
            response = self._redirect_to_provider(chosen, target, link, query)
        except RecordsError as error:
            response = self._refused(chosen, target, error)

        self._connections.remove_address(response, url)
        return response

    def _redirect_to_provider(
        self, provider: Provider, target: str | None, link: Record | None, query: Record
    ) -> Response:
        """Return the response that sends a user to a provider."""
        client = self._clients[provider.name]
        redirect_uri = self._url("callback", provider.name)

        try:
            if not client.is_ready:
                self._conversations[provider.name].ask(client.load_server_metadata)

            start = client.create_authorization_url(redirect_uri)
            response = _redirect(start["url"])
        except PROVIDER_ERRORS as error:
            raise _provider_error(provider, error) from error

        login = {
            "provider": provider.name,
            "state": start["state"],
            "nonce": start.get("nonce"),
            "code_verifier": start["code_verifier"],
            "redirect_uri": redirect_uri,
            "target": target,
            "link": link,
            "query": query,
        }
        self._cookies.add(response, login, posts_back=provider.posts_back)
        return response

    def _callback(self, provider: str) -> ResponseReturnValue:
        chosen = self._provider(provider)
        count_view("callback")
        answer = _posted(chosen) if request.method == "POST" else request.args.to_dict()
        login = self._cookies.find(provider, answer.get("state", ""))

        if login is None:
            # Some providers omit the state if the user cancels.
            message = DENIED if "error" in answer else LOST
            target = self._settings.redirects.target("")
            return self._refused(chosen, target, NotAuthenticated(message))

        try:
            response = self._log_in(chosen, login, answer)
        except RecordsError as error:
            response = self._refused(chosen, login["target"], error)

        self._cookies.remove(response, login)
        return response

    def _log_in(
        self, provider: Provider, started: Record, answer: dict[str, str]
    ) -> Response:
        """Return the response of a login that the provider has answered."""
        if "error" in answer or "code" not in answer:
            raise NotAuthenticated(DENIED)

        client = self._clients[provider.name]
        conversation = self._conversations[provider.name]

        try:
            raw = {
                **(_posted_profile(answer) if provider.posts_back else {}),
                **conversation.ask(raw_profile, client, provider, started, answer),
            }
            login = OAuthLogin(provider, raw, started["link"])
            self._strategy(provider).profile(login)
        except PROVIDER_ERRORS as error:
            raise _provider_error(provider, error) from error

        result, target = self._result(login, started["query"]), started["target"]

        if target is None:
            return Response(dumps(result), mimetype=JSON)

        return _redirect(self._strategy(provider).success_url(target, result))

    def _refused(
        self, provider: Provider, target: str | None, error: RecordsError
    ) -> Response:
        """Return the response of a login that failed."""
        if target is None:
            raise error

        return _redirect(self._strategy(provider).failure_url(target, error))

    def _strategy(self, provider: Provider) -> OAuthStrategy:
        return t.cast("OAuthStrategy", self._service.strategy(provider.name))

    def _result(self, login: OAuthLogin, query: Record) -> Record:
        name = login.provider.name
        service = self._service.as_service

        def call() -> Record:
            params = Params(query=dict(query), extra={LOGIN: login})

            # Nobody would commit after this view what the session holds.
            with Transaction(is_final=True):
                return t.cast("Record", service.create({"strategy": name}, params))

        try:
            return call()
        except Conflict:
            # The first login of a profile may run twice at once.
            try:
                return call()
            except Conflict as error:
                raise self._conflict(login.provider, error) from error

    def _conflict(self, provider: Provider, error: Conflict) -> Conflict:
        if self._service.username in error.errors:
            return Conflict(
                "There is a user with this email already. Log in as this user, then"
                f" connect {provider.title}."
            )

        if provider.id_field in error.errors:
            return Conflict(f"This {provider.title} login belongs to another user.")

        return error

    def _url(self, view: str, provider: str) -> str:
        """Return the address of a view, as browsers and providers see it."""
        # The views may be in a blueprint of the application.
        endpoint, base = f".{view}", self._settings.base_url

        if base is None:
            return url_for(endpoint, provider=provider, _external=True)

        path = url_for(endpoint, provider=provider)
        return base.rstrip("/") + path.removeprefix(request.script_root)

    def _provider(self, name: str) -> Provider:
        if name not in self._settings.providers:
            raise NotFound(f"There is no login with '{name}'.")

        return self._settings.providers[name]


def _posted(provider: Provider) -> dict[str, str]:
    """Return the answer that a provider lets the browser post.

    :raises MethodNotAllowed: The provider answers in the query string.
    """
    if not provider.posts_back:
        error = MethodNotAllowed(f"{provider.title} does not answer by POST.")
        error.headers["Allow"] = "GET, HEAD, OPTIONS"
        raise error

    answer = _body({FORM: lambda request: request.form.to_dict()})
    return t.cast("dict[str, str]", answer)


def _body(parsers: Mapping[str, BodyParser]) -> t.Any:
    limit = min(request.max_content_length or MAX_BODY, MAX_BODY)
    return read_body(request, "create", parsers, limit)


def _posted_profile(answer: dict[str, str]) -> Record:
    """Return the profile in an answer. Apple sends a name with the first one only."""
    try:
        name = json.loads(answer.get("user", "{}"))["name"]
        parts = [name.get("firstName"), name.get("lastName")]
        return {"name": " ".join(part for part in parts if part)}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # A login does not need the name.
        return {}


def _provider_error(provider: Provider, error: Exception) -> RecordsError:
    title = provider.title

    if isinstance(error, TooBusy):
        return Unavailable(
            f"Too many logins at {title} are in progress. Try again later."
        )

    # The description of a provider may quote secrets, but not the code.
    match = ERROR_CODE.fullmatch(str(getattr(error, "error", "")))
    code = match[0] if match else ""
    current_app.logger.warning(
        "The login at %s failed: %s %s", provider.name, type(error).__name__, code
    )
    is_silent = isinstance(error, (RequestException, TimeoutError))
    reason = "is not responding" if is_silent else "sent an invalid response"
    return NotAuthenticated(f"{title} {reason}. Try again later.")


def _redirect(url: str) -> Response:
    # The default page of a redirect would show the token.
    response = empty(302)
    response.location = url
    return response


def _keep_private(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "no-referrer"
    return forbid_sniffing(response)
