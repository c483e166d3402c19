"""The views of logins at OAuth providers."""

from __future__ import annotations

import typing as t
from urllib.parse import urlencode

from flask import Blueprint, request, Response, url_for

from ..errors import BadRequest, GeneralError, is_answer, NotAuthenticated, NotFound
from ..http.formatter import dumps, empty, forbid_sniffing, JSON
from ..http.routes import routes_of
from .limits import client_address
from .oauth_client import ProviderClient
from .oauth_strategy import explaining_refusals, OAuthLogin, OAuthStrategy, result_of
from .records import current_records

if t.TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flask import Flask
    from flask.typing import ResponseReturnValue

    from ..typing import Record
    from .oauth_settings import OAuthSettings
    from .service import AuthenticationService

LOST: t.Final = "The login took too long, or began in another browser. Try again."

FAILED: t.Final = "The login failed because of an error of this site. Try again later."


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

    if app.config["SESSION_COOKIE_SAMESITE"] is None:
        app.logger.warning(
            "%s keeps logins in a cookie that some browsers send with requests of other"
            " sites. Set SESSION_COOKIE_SAMESITE = 'Lax'.",
            place,
        )

    if str(app.config["SESSION_COOKIE_SAMESITE"]).lower() == "strict":
        raise RuntimeError(
            f"{place} needs SESSION_COOKIE_SAMESITE='Lax': users come back from the"
            " site of the provider, and browsers send no cookie that is 'Strict' then."
        )

    routes_of(app).add(app, OAuthViews(service, settings.oauth).blueprint())


class OAuthViews:
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

    def blueprint(self) -> Blueprint:
        """Return the blueprint."""
        blueprint = Blueprint("records_oauth", __package__, url_prefix="/oauth")
        blueprint.add_url_rule("/<provider>", "start", self._start)
        blueprint.add_url_rule(
            "/<provider>/callback", "callback", self._callback, methods=["GET", "POST"]
        )
        blueprint.register_error_handler(
            Exception, lambda error: current_records.errors.handle(error)
        )
        blueprint.after_request(_keep_private)
        return blueprint

    def _start(self, provider: str) -> ResponseReturnValue:
        client = self._client(provider)
        _count("start")
        query = request.args.to_dict()
        target = self._settings.target(query.pop("redirect", ""))
        return self._ending(client, target, lambda: self._begin(client, target, query))

    def _begin(
        self, client: ProviderClient, target: str | None, query: dict[str, str]
    ) -> Response:
        """Return the response that sends a user to a provider."""
        link = self._claims_of_link(query.pop("feathers_token", None))
        login = {"redirect_uri": _callback_url(client.name), "target": target}

        with client.reporting():
            started = client.create_authorization_url(login["redirect_uri"])

        response = _redirect_to(started.pop("url"))
        client.keep({**started, **login, "link": link, "query": query})
        return response

    def _claims_of_link(self, token: str | None) -> Record | None:
        """Return the claims of the user who connects a login, or ``None`` for a login
        that is not to be connected.

        :param token: The value of ``?feathers_token=``.
        :raises NotAuthenticated: The token is not valid.
        :raises BadRequest: It comes from a page of another origin.
        """
        if token is None:
            return None

        # Anybody can put an address with a token of their own into a page, and would
        # own the login of a visitor. A browser without this header proves nothing.
        if request.headers.get("Sec-Fetch-Site") != "same-origin":
            raise BadRequest(
                "'feathers_token' is accepted from pages of the same origin only, over"
                " HTTPS or on localhost."
            )

        with explaining_refusals():
            claims = self._service.settings.tokens.verify_token(token)
            self._service.tokens.user_of(claims)

        return claims

    def _callback(self, provider: str) -> ResponseReturnValue:
        client = self._client(provider)

        if request.method == "POST":
            # No cookie comes with a form that another site posts, as Apple does.
            answer = {
                name: request.form.get(name, "")
                for name in ("code", "error", "iss", "state")
                if name in request.form
            }
            url = f"{_callback_url(provider)}?{urlencode(answer)}"
            return _redirect_to(url, 303)

        _count("callback")
        answer = request.args.to_dict()
        login = client.take(answer.get("state", ""))
        target = login.get("target", self._settings.redirect)
        return self._ending(client, target, lambda: self._end(client, login, answer))

    def _end(
        self, client: ProviderClient, login: Record, answer: Mapping[str, str]
    ) -> Response:
        """Return the response of a login that the provider has answered."""
        # Some providers omit the state of an error.
        if not login and "error" not in answer:
            raise NotAuthenticated(LOST)

        with client.reporting():
            raw = client.raw_profile(login, answer)

        done = OAuthLogin(client.provider, raw, login["link"])
        result = result_of(self._service, done, login["query"])

        if login["target"] is None:
            return Response(dumps(result), mimetype=JSON)

        strategy = self._strategy(client)
        return _redirect_to(strategy.success_url(login["target"], result))

    def _ending(
        self,
        client: ProviderClient,
        target: str | None,
        respond: Callable[[], Response],
    ) -> Response:
        """Return the response of a part of a login. Whatever fails, the user returns to
        a page, if there is one.

        :param target: The address that the user returns to.
        :param respond: Returns the response of the part.
        """
        try:
            return respond()
        except Exception as error:
            if is_answer(error) or target is None:
                raise

            failure = "The login at %s failed."
            visible = current_records.errors.report(error, failure, client.name)

            if visible.code == 500:
                visible = GeneralError(FAILED)

            return _redirect_to(self._strategy(client).failure_url(target, visible))

    def _strategy(self, client: ProviderClient) -> OAuthStrategy:
        return t.cast("OAuthStrategy", self._service.strategy(client.name))

    def _client(self, provider: str) -> ProviderClient:
        if provider not in self._clients:
            raise NotFound(f"There is no login with '{provider}'.")

        return self._clients[provider]


def _callback_url(provider: str) -> str:
    """Return the address of the callback, as browsers and providers see it."""
    # The views may be in a blueprint of the application.
    return url_for(".callback", provider=provider, _external=True)


def _count(view: str) -> None:
    if current_records.limits is not None:
        current_records.limits.count("oauth", view, client_address)


def _redirect_to(url: str, status: int = 302) -> Response:
    """Return a redirect whose body does not show what is in the address."""
    response = empty(status)
    response.location = url
    return response


def _keep_private(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "no-referrer"
    return forbid_sniffing(response)
