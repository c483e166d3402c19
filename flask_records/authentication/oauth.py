"""The views of logins at OAuth providers."""

from __future__ import annotations

import typing as t
from functools import partial
from urllib.parse import urlencode
from urllib.parse import urljoin
from urllib.parse import urlsplit

from flask import Blueprint
from flask import current_app
from flask import request
from flask import Response
from flask import url_for

from ..errors import is_answer
from ..errors import NotAuthenticated
from ..errors import NotFound
from ..errors import RecordsError
from ..globals import current_records
from ..http.formatter import dumps
from ..http.formatter import empty
from ..http.formatter import JSON
from ..http.headers import forbid_sniffing
from ..http.routes import routes_of
from .limits import count_view
from .oauth_calls import result_of
from .oauth_client import ProviderClient
from .oauth_cookies import LoginCookies
from .oauth_errors import new_reference
from .oauth_errors import provider_error
from .oauth_errors import PROVIDER_ERRORS
from .oauth_errors import server_error
from .oauth_requests import error_of
from .oauth_requests import linking_claims
from .oauth_requests import other_page
from .oauth_requests import posted_profile
from .oauth_requests import read_answer
from .oauth_strategy import OAuthLogin
from .oauth_strategy import OAuthStrategy
from .provider_session import InvalidResponse

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask
    from flask.typing import ResponseReturnValue

    from ..typing import Record
    from .oauth_settings import OAuthSettings
    from .providers import Provider
    from .service import AuthenticationService

LOST: t.Final = "The login took too long, or began in another browser. Try again."


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
    rows of section 4.1 of the specification, and one to log out at a provider.

    :raises RuntimeError: There is no secret to sign with.
    """

    def __init__(
        self, app: Flask, service: AuthenticationService, settings: OAuthSettings
    ) -> None:
        self._service = service
        self._settings = settings
        self._cookies = LoginCookies(app, service)
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
        blueprint.add_url_rule("/<provider>/logout", "logout", self._logout)
        blueprint.after_request(_keep_private)
        return blueprint

    def _start(self, provider: str) -> ResponseReturnValue:
        chosen = self._provider(provider)
        count_view("start")
        query = request.args.to_dict()
        page = other_page(self._url("start", provider))
        target = self._settings.redirects.target(query.pop("redirect", ""), page)

        def start() -> Response:
            link = linking_claims(self._service, query.pop("feathers_token", None))
            login = {"target": target, "link": link, "query": query}
            return self._redirect_to_provider(chosen, login)

        return self._ending(chosen, target, start)

    def _redirect_to_provider(self, provider: Provider, login: Record) -> Response:
        """Return the response that sends a user to a provider."""
        redirect_uri = self._url("callback", provider.name)

        try:
            start = self._clients[provider.name].start(redirect_uri)
            response = _redirect_to(start.pop("url"))
        except PROVIDER_ERRORS as error:
            raise provider_error(provider, error, current_app.logger) from error

        login |= {
            **start,
            "provider": provider.name,
            "redirect_uri": redirect_uri,
        }
        self._cookies.add(response, login, posts_back=provider.posts_back)
        return response

    def _logout(self, provider: str) -> ResponseReturnValue:
        chosen = self._provider(provider)
        count_view("start")
        url = self._url("logout", provider)
        redirect = request.args.get("redirect", "")
        target = self._settings.redirects.target(redirect, other_page(url))

        def log_out() -> Response:
            try:
                metadata = self._clients[provider].metadata()
            except PROVIDER_ERRORS as error:
                raise provider_error(chosen, error, current_app.logger) from error

            if metadata.logout_url is None:
                raise NotFound(f"{chosen.title} has no address to log out at.")

            # ID tokens are not stored, so that the provider may ask the user first.
            query = {"client_id": chosen.key}

            if target is not None:
                query["post_logout_redirect_uri"] = urljoin(url, target)

            separator = "&" if urlsplit(metadata.logout_url).query else "?"
            return _redirect_to(f"{metadata.logout_url}{separator}{urlencode(query)}")

        return self._ending(chosen, target, log_out)

    def _callback(self, provider: str) -> ResponseReturnValue:
        chosen = self._provider(provider)
        count_view("callback")
        answer = read_answer(chosen)
        login = self._cookies.find(provider, answer.get("state", ""))

        if login is None:
            target = self._target_of_latest(provider)
            return self._ending(chosen, target, partial(self._refuse, chosen, answer))

        log_in = partial(self._log_in, chosen, login, answer)
        response = self._ending(chosen, login["target"], log_in)
        self._cookies.remove(response, login)
        return response

    def _refuse(self, provider: Provider, answer: dict[str, str]) -> t.NoReturn:
        """Refuse an answer without the state of a login of this browser."""
        # Some providers omit the state of an error.
        error = error_of(answer) if "error" in answer else None

        if error is None:
            raise NotAuthenticated(LOST)

        raise provider_error(provider, error, current_app.logger) from error

    def _target_of_latest(self, provider: str) -> str | None:
        """Return where the login of this browser that began last returns to."""
        login = self._cookies.latest(provider)
        return self._settings.redirects.target("") if login is None else login["target"]

    def _log_in(
        self, provider: Provider, started: Record, answer: dict[str, str]
    ) -> Response:
        """Return the response of a login that the provider has answered."""
        client = self._clients[provider.name]

        try:
            if error := error_of(answer):
                raise error

            raw = {
                **(posted_profile(answer) if provider.posts_back else {}),
                **client.raw_profile(started, answer),
            }
        except PROVIDER_ERRORS as error:
            raise provider_error(provider, error, current_app.logger) from error

        login = OAuthLogin(provider, raw, started["link"])

        try:
            self._strategy(provider).profile(login)
        except ValueError as error:
            unusable = InvalidResponse("Its profile has no usable id.")
            raise provider_error(provider, unusable, current_app.logger) from error

        result = result_of(self._service, login, started["query"])
        target = started["target"]

        if target is None:
            return Response(dumps(result), mimetype=JSON)

        return _redirect_to(self._strategy(provider).success_url(target, result))

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


def _redirect_to(url: str) -> Response:
    """Return a redirect whose body does not show what is in the address."""
    response = empty(302)
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
