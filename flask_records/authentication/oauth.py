"""The views of logins at OAuth providers."""

from __future__ import annotations

import json
import time
import typing as t
from urllib.parse import urlencode

from flask import Blueprint, current_app, request, Response, session, url_for

from ..errors import (
    BadRequest,
    is_answer,
    MethodNotAllowed,
    NotAuthenticated,
    NotFound,
    RecordsError,
)
from ..globals import current_records
from ..http.body import read_body
from ..http.formatter import dumps, empty, JSON
from ..http.headers import forbid_sniffing
from ..http.origins import origin_of
from ..http.routes import routes_of
from .limits import count_view
from .oauth_client import ProviderClient
from .oauth_errors import (
    InvalidResponse,
    new_reference,
    provider_error,
    PROVIDER_ERRORS,
    ProviderError,
    server_error,
)
from .oauth_strategy import explaining_refusals, OAuthLogin, OAuthStrategy, result_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flask import Flask
    from flask.typing import ResponseReturnValue

    from ..typing import Record
    from .oauth_settings import OAuthSettings
    from .providers import Provider
    from .service import AuthenticationService

LOST: t.Final = "The login took too long, or began in another browser. Try again."

LOGINS: t.Final = "records_logins"
"""The key of the session with the provider and state of each login in progress."""

LIFETIME: t.Final = 10 * 60
"""The number of seconds that a user has to log in at the provider."""

MAX_LOGINS: t.Final = 5
"""The number of logins that one browser can have in progress."""

MAX_SIZE: t.Final = 2500
"""The number of characters of all of them. Browsers drop cookies of more than 4 kB."""

MAX_BODY: t.Final = 64 * 1024
"""The number of bytes of the largest answer that a provider posts."""

MAX_PART: t.Final = 1500
"""The number of characters of a part of it that is kept: it goes into an address."""

FORM: t.Final = "application/x-www-form-urlencoded"


def add_views(app: Flask, service: AuthenticationService) -> None:
    """Add the views of an authentication service to an application.

    :raises RuntimeError: A provider has a strategy's name, there are views already, or
        the session of the application can't keep a login.
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

    if not app.secret_key:
        raise RuntimeError(f"{place} needs SECRET_KEY: logins are in Flask's session.")

    if str(app.config["SESSION_COOKIE_SAMESITE"]).lower() == "strict":
        raise RuntimeError(
            f"{place} needs SESSION_COOKIE_SAMESITE='Lax': users come back from the"
            " site of the provider, and browsers send no cookie that is 'Strict' then."
        )

    views = OAuthBlueprint(service, settings.oauth).make()
    routes_of(app).add(app, views)


class OAuthBlueprint:
    """The views of an authentication service in one application: those in the last two
    rows of section 4.1 of the specification.
    """

    def __init__(self, service: AuthenticationService, settings: OAuthSettings) -> None:
        self._service = service
        self._settings = settings
        self._clients = {
            name: ProviderClient(provider)
            for name, provider in settings.providers.items()
        }

    def make(self) -> Blueprint:
        """Return the blueprint."""
        blueprint = Blueprint("records_oauth", __package__, url_prefix="/oauth")
        blueprint.add_url_rule("/<provider>", "start", self._start)
        blueprint.add_url_rule(
            "/<provider>/callback", "callback", self._callback, methods=["GET", "POST"]
        )
        blueprint.after_request(_keep_private)
        return blueprint

    def _start(self, provider: str) -> ResponseReturnValue:
        chosen = self._provider(provider)
        count_view("start")
        query = request.args.to_dict()
        page = request.referrer or ""
        is_own = origin_of(page) == origin_of(self._url("start", provider))
        redirect = query.pop("redirect", "")
        target = self._settings.redirects.target(redirect, "" if is_own else page)

        def start() -> Response:
            link = _linking_claims(self._service, query.pop("feathers_token", None))
            login = {"target": target, "link": link, "query": query}
            return self._redirect_to_provider(chosen, login)

        return self._ending(chosen, target, start)

    def _redirect_to_provider(self, provider: Provider, login: Record) -> Response:
        """Return the response that sends a user to a provider."""
        client = self._clients[provider.name]
        redirect_uri = self._url("callback", provider.name)

        try:
            started = client.create_authorization_url(redirect_uri)
            response = _redirect_to(started.pop("url"))
        except PROVIDER_ERRORS as error:
            client.forget()
            raise provider_error(provider, error, current_app.logger) from error

        began = int(time.time())
        self._keep(
            client, {**started, **login, "redirect_uri": redirect_uri, "began": began}
        )
        return response

    def _keep(self, client: ProviderClient, login: Record) -> None:
        """Keep a login in the session until its user returns, and drop the oldest ones
        beyond the bounds: many are abandoned.

        :raises BadRequest: The login is too large for a cookie.
        """
        size = len(json.dumps(login))

        if size > MAX_SIZE:
            raise BadRequest("The query of the login is too long.")

        kept = [[client.name, login["state"]]]
        client.save_authorize_data(**login)

        for name, state in reversed(session.get(LOGINS, [])):
            size += len(json.dumps(self._find(name, state)))

            if len(kept) < MAX_LOGINS and size <= MAX_SIZE:
                kept.insert(0, [name, state])
            elif name in self._clients:
                self._clients[name].framework.clear_state_data(session, state)

        session[LOGINS] = kept

    def _find(self, provider: str, state: str) -> Record | None:
        """Return a login that this browser began recently."""
        client = self._clients.get(provider)
        login = client and client.framework.get_state_data(session, state)

        if login and abs(time.time() - login["began"]) <= LIFETIME:
            return t.cast("Record", login)

        return None

    def _callback(self, provider: str) -> ResponseReturnValue:
        chosen = self._provider(provider)

        if request.method == "POST":
            # No cookie comes with a form that another site posts.
            query = urlencode(_posted_answer(chosen))
            return _redirect_to(f"{self._url('callback', provider)}?{query}", 303)

        count_view("callback")
        answer = request.args.to_dict()
        state = answer.get("state", "")
        login = self._find(provider, state)

        if login is None:
            target = self._target_of_latest(provider)
            return self._ending(chosen, target, lambda: _refuse(chosen, answer))

        # A state is valid for one answer.
        self._clients[provider].framework.clear_state_data(session, state)
        target = login["target"]
        return self._ending(chosen, target, lambda: self._log_in(chosen, login, answer))

    def _target_of_latest(self, provider: str) -> str | None:
        """Return where the login of this browser that began last returns to."""
        for name, state in reversed(session.get(LOGINS, [])):
            if name == provider and (login := self._find(name, state)):
                return t.cast("str | None", login["target"])

        return self._settings.redirects.target("")

    def _log_in(
        self, provider: Provider, started: Record, answer: dict[str, str]
    ) -> Response:
        """Return the response of a login that the provider has answered."""
        client = self._clients[provider.name]
        strategy = self._strategy(provider)

        try:
            if error := _error_of(answer):
                raise error

            posted = _posted_profile(answer) if provider.posts_back else {}
            raw = {**posted, **client.raw_profile(started, answer)}
        except PROVIDER_ERRORS as error:
            # It may have other addresses by now.
            client.forget()
            raise provider_error(provider, error, current_app.logger) from error

        login = OAuthLogin(provider, raw, started["link"])

        try:
            strategy.profile(login)
        except ValueError as error:
            unusable = InvalidResponse("Its profile has no usable id.")
            raise provider_error(provider, unusable, current_app.logger) from error

        result = result_of(self._service, login, started["query"])
        target = started["target"]

        if target is None:
            return Response(dumps(result), mimetype=JSON)

        return _redirect_to(strategy.success_url(target, result))

    def _ending(
        self, provider: Provider, target: str | None, respond: Callable[[], Response]
    ) -> Response:
        """Return the response of a part of a login, or of its failure.

        :param target: The address that the user returns to, if there is one.
        :param respond: Returns the response of the part.
        :raises RecordsError: The part failed, and there is no address to return to.
        """
        try:
            return respond()
        except Exception as error:
            is_records_error = isinstance(error, RecordsError)

            if is_answer(error) or (target is None and is_records_error):
                raise

            # Whatever fails, the user returns to the page.
            visible = _visible(provider, error)

            if target is None:
                return current_records.errors.answer(visible)

            return _redirect_to(self._strategy(provider).failure_url(target, visible))

    def _strategy(self, provider: Provider) -> OAuthStrategy:
        return t.cast("OAuthStrategy", self._service.strategy(provider.name))

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


def _linking_claims(service: AuthenticationService, token: str | None) -> Record | None:
    """Return the claims of the user who connects a login, or ``None`` for a login that
    is not to be connected.

    :param token: The value of ``?feathers_token=``.
    :raises NotAuthenticated: The token is not valid.
    :raises BadRequest: It comes from a page of another origin.
    """
    if token is None:
        return None

    # Anybody can put an address with a token of their own into a page, and would own
    # the login of a visitor. A browser without this header proves nothing.
    if request.headers.get("Sec-Fetch-Site") != "same-origin":
        raise BadRequest(
            "'feathers_token' is accepted from pages of the same origin only, over"
            " HTTPS or on localhost."
        )

    with explaining_refusals():
        payload = service.settings.tokens.verify_token(token)
        service.tokens.user_of(payload)

    return payload


def _posted_answer(provider: Provider) -> dict[str, str]:
    """Return the answer that the browser posts from a provider.

    :raises MethodNotAllowed: The provider does not do so.
    """
    if not provider.posts_back:
        error = MethodNotAllowed(f"{provider.title} does not answer by POST.")
        error.headers["Allow"] = "GET, HEAD, OPTIONS"
        raise error

    limit = min(request.max_content_length or MAX_BODY, MAX_BODY)
    parsers = {FORM: lambda request: request.form.to_dict()}
    body = t.cast("dict[str, str]", read_body(request, "create", parsers, limit))
    return {
        name: body[name]
        for name in ("code", "error", "iss", "state", "user")
        if name in body and len(body[name]) <= MAX_PART
    }


def _posted_profile(answer: Mapping[str, str]) -> Record:
    """Return the profile in an answer. Apple sends a name with the first one only."""
    try:
        name = json.loads(answer.get("user", "{}"))["name"]
        parts = [name.get("firstName"), name.get("lastName")]
        return {"name": " ".join(part for part in parts if part)}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # A login does not need the name.
        return {}


def _error_of(answer: Mapping[str, str]) -> ProviderError | None:
    """Return the error that the browser brings back from a provider, if there is one,
    or no code.
    """
    if "error" not in answer and "code" in answer:
        return None

    return ProviderError(answer.get("error"), "authorization endpoint")


def _refuse(provider: Provider, answer: Mapping[str, str]) -> t.NoReturn:
    """Refuse an answer without the state of a login of this browser."""
    # Some providers omit the state of an error.
    error = _error_of(answer) if "error" in answer else None

    if error is None:
        raise NotAuthenticated(LOST)

    raise provider_error(provider, error, current_app.logger) from error


def _redirect_to(url: str, status: int = 302) -> Response:
    """Return a redirect whose body does not show what is in the address."""
    response = empty(status)
    response.location = url
    return response


def _visible(provider: Provider, error: Exception) -> RecordsError:
    """Return an error as the user sees it, and log that of the server."""
    if isinstance(error, RecordsError) and (error.code or 500) < 500:
        return error

    reference = new_reference()
    failure = "The login at %s failed (reference %s)."
    visible = current_records.errors.report(error, failure, provider.name, reference)
    return server_error(reference) if visible.code == 500 else visible


def _keep_private(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "no-referrer"
    return forbid_sniffing(response)
