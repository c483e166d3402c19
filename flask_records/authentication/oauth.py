"""Logins at OAuth providers."""

from __future__ import annotations

import typing as t
from urllib.parse import urlencode

from flask import Blueprint, request, Response, url_for
from werkzeug.exceptions import default_exceptions

from ..database.transaction import Transaction
from ..errors import (
    BadRequest,
    Conflict,
    GeneralError,
    is_answer,
    NotAuthenticated,
    NotFound,
)
from ..http.formatter import dumps, empty, forbid_sniffing, JSON
from ..http.routes import current_routes, routes_of
from ..service.context import Params
from .limits import count
from .oauth_settings import with_answer
from .records import current_records
from .strategies import ACCESS_TOKEN
from .users import fields_of

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask
    from flask.typing import ResponseReturnValue
    from werkzeug.datastructures import Headers

    from ..errors import RecordsError
    from ..query import Fields
    from ..typing import Record
    from .oauth_client import ProviderClient
    from .providers import Profile, Provider
    from .service import AuthenticationService

LOGIN: t.Final = "oauth"
"""The key of ``params.extra`` with the login."""

ENDING: t.Final = "flask_records.oauth"
"""The key of the environment with the provider, and the address of the end."""

OPTIONAL_FIELDS: t.Final = frozenset({"name", "avatar", "email"})
"""The fields of a profile that are left out if they do not fit."""

LOST: t.Final = "The login took too long, or began in another browser. Try again."

FAILED: t.Final = "The login failed because of an error of this site. Try again later."


class OAuthLogin(t.NamedTuple):
    """A login at a provider, as the strategy gets it in ``params.extra``."""

    provider: Provider
    """The provider."""

    raw: Record
    """The profile as the provider sent it."""

    link: Record | None = None
    """The claims of the access token whose user wants the login connected."""


class OAuthStrategy:
    """Finds or creates the user of a profile. See section 5.5 of the specification.

    Override its methods, except :meth:`authenticate`, and pass an instance of the
    subclass to the ``strategies`` of an :class:`.AuthenticationService`, by the name of
    the provider.
    """

    parse: t.Callable[[Headers], Record | None] | None = None

    def profile(self, login: OAuthLogin) -> Profile:
        """Return the profile of a login.

        :raises ValueError: The profile has no usable identifier.
        """
        return login.provider.read_profile(login.raw)

    def user_data(
        self, login: OAuthLogin, profile: Profile, user: Record | None
    ) -> Record:
        """Return the fields of a user that a login sets. Those that users do not have
        are left out.

        A new user gets the email of the profile; an existing one keeps its own.

        :param user: The user, if there is one.
        """
        data = {
            login.provider.id_field: profile.id,
            "name": profile.name,
            "avatar": profile.avatar,
        }

        if user is None:
            data["email"] = profile.email
        elif login.link is not None:
            # The user may have a name and an image already.
            data = {
                name: value
                for name, value in data.items()
                if name == login.provider.id_field or user.get(name) is None
            }

        return {name: value for name, value in data.items() if value is not None}

    def success_url(self, target: str, result: Record) -> str:
        """Return the address that the browser goes to after a login, with the access
        token after the ``#``. It is called in the request of the browser, after the
        commit.

        :param target: The address that the user returns to, which is one that the
            settings allow.
        :param result: The result of the login, with ``accessToken`` and ``user``.
        """
        return with_answer(target, access_token=result[ACCESS_TOKEN])

    def failure_url(self, target: str, error: RecordsError) -> str:
        """Return the address that the browser goes to after a login that failed, with
        the message after the ``#``.

        :param target: The address that the user returns to.
        """
        return with_answer(target, error=error.message)

    def authenticate(
        self, service: AuthenticationService, data: Record, params: Params
    ) -> Record:
        """Return the user of the login in ``params.extra``.

        :raises NotAuthenticated: There was no login at the provider, or the token of
            the user to connect is not valid any more.
        :raises Conflict: The email, or the profile, belongs to another user.
        """
        login: OAuthLogin | None = params.extra.get(LOGIN)

        if login is None:
            prefix = current_routes().url_prefix
            raise NotAuthenticated(f"Log in at {prefix}/oauth/{data['strategy']}.")

        try:
            profile = self.profile(login)
        except ValueError as error:
            title = login.provider.title
            raise NotAuthenticated(f"{title} sent a profile without an id.") from error

        user = self._find(service, login, profile)
        fields, users = fields_of(service.users), service.users
        data = self.user_data(login, profile, user)

        if fields is not None:
            data = {k: v for k, v in data.items() if _is_kept(fields, k, v)}

        if user is None:
            # An override may have set another address.
            is_own = "email" in data and data["email"] == profile.email

            if service.verified and profile.email_verified and is_own:
                data[service.verified] = True

            user = users.create(data)
        elif changes := {k: v for k, v in data.items() if user.get(k) != v}:
            user = users.patch(user[service.id], changes)

        return {"user": service.get_user(user[service.id])}

    def _find(
        self, service: AuthenticationService, login: OAuthLogin, profile: Profile
    ) -> Record | None:
        users = service.lookup

        if login.link is None:
            return users.find_by(login.provider.id_field, profile.id, lock=True)

        # The token may have been revoked while its user was at the provider. Whoever
        # proves the address of the user from now on waits, and ends this login, too.
        user = users.lock(login.link["sub"])
        service.tokens.user_of(login.link)
        return user


OAUTH: t.Final = OAuthStrategy()
"""The strategy of a provider that the application has no strategy for."""


def add_views(app: Flask, service: AuthenticationService) -> None:
    """Add the views of an authentication service to an application.

    :raises RuntimeError: The extra is not installed, a provider has a strategy's name,
        there are views already, or the session of the application can't keep a login.
    """
    settings = service.settings_of(app)
    place = f"{settings.name}['oauth']"

    try:
        from .oauth_client import ProviderClient
    except ImportError as error:
        message = f"{place} needs 'flask-record-services[oauth]'."
        raise RuntimeError(message) from error

    for name in settings.oauth.providers:
        if not isinstance(service.strategy(name), OAuthStrategy):
            raise RuntimeError(f"{place}[{name!r}] has the name of a strategy.")

    if "records_oauth" in app.blueprints:
        raise RuntimeError(
            f"{place} is the second one: only one authentication service of an"
            " application can have providers."
        )

    if not app.secret_key:
        raise RuntimeError(f"{place} needs SECRET_KEY: logins are in Flask's session.")

    if app.config["SESSION_COOKIE_SAMESITE"] is None:
        app.logger.warning(f"{place} is safer with SESSION_COOKIE_SAMESITE = 'Lax'.")

    if str(app.config["SESSION_COOKIE_SAMESITE"]).lower() == "strict":
        raise RuntimeError(
            f"{place} needs SESSION_COOKIE_SAMESITE='Lax': users come back from the"
            " site of the provider, and browsers send no cookie that is 'Strict' then."
        )

    providers = settings.oauth.providers.items()
    clients = {name: ProviderClient(provider) for name, provider in providers}
    routes_of(app).add(app, OAuthViews(service, clients).blueprint())


class OAuthViews:
    """The views in the last two rows of section 4.1 of the specification."""

    def __init__(
        self, service: AuthenticationService, clients: Mapping[str, ProviderClient]
    ) -> None:
        self._service = service
        self._clients = clients

    def blueprint(self) -> Blueprint:
        """Return the blueprint of the views."""
        blueprint = Blueprint("records_oauth", __package__, url_prefix="/oauth")
        blueprint.add_url_rule("/<provider>", "start", self._start)
        blueprint.add_url_rule(
            "/<provider>/callback", "callback", self._callback, methods=["GET", "POST"]
        )

        # Before the handlers of the application, as `ErrorHandler.register` does.
        for code in (None, *default_exceptions):
            blueprint.error_handler_spec[None][code][Exception] = self._fail

        blueprint.after_request(_keep_private)
        return blueprint

    def _start(self, provider: str) -> ResponseReturnValue:
        client = self._client(provider)
        count("oauth", "start")
        query = request.args.to_dict()
        target = self._service.settings.oauth.target(query.pop("redirect", ""))
        request.environ[ENDING] = client.name, target
        link = self._claims_of_link(query.pop("feathers_token", None))
        login = {"redirect_uri": _callback_url(client.name), "target": target}

        with client.reporting():
            authorization = client.create_authorization_url(login["redirect_uri"])

        response = _redirect_to(authorization.pop("url"))
        client.keep({**authorization, **login, "link": link, "query": query})
        return response

    def _claims_of_link(self, token: str | None) -> Record | None:
        """Return the claims of the user who connects a login, if there is one."""
        if token is None:
            return None

        # Anybody can put an address with a token of their own into a page, and would
        # own the login of a visitor. A browser without this header proves nothing.
        if request.headers.get("Sec-Fetch-Site") != "same-origin":
            raise BadRequest(
                "'feathers_token' is accepted from pages of the same origin only, over"
                " HTTPS or on localhost."
            )

        return self._service.settings.tokens.verify_token(token)

    def _callback(self, provider: str) -> ResponseReturnValue:
        client = self._client(provider)

        if request.method == "POST":
            # No cookie comes with a form that another site posts, as Apple does.
            names = ("code", "error", "state")
            query = urlencode({n: request.form[n] for n in names if n in request.form})
            return _redirect_to(f"{_callback_url(provider)}?{query}", 303)

        count("oauth", "callback")
        answer = request.args.to_dict()
        login = client.take(answer.get("state", ""))
        target = login.get("target", self._service.settings.oauth.redirect)
        request.environ[ENDING] = client.name, target

        # Some providers omit the state of an error.
        if not login and "error" not in answer:
            raise NotAuthenticated(LOST)

        with client.reporting():
            raw = client.raw_profile(login, answer)

        oauth_login = OAuthLogin(client.provider, raw, login["link"])
        result = _log_in(self._service, oauth_login, login["query"])

        if target is None:
            return Response(dumps(result), mimetype=JSON)

        return _redirect_to(self._strategy(client.name).success_url(target, result))

    def _fail(self, error: Exception) -> ResponseReturnValue:
        """Return the response to an error: the user returns to a page, if any."""
        provider, target = request.environ.get(ENDING, ("", None))

        if target is None or is_answer(error):
            return current_records.errors.handle(error)

        visible = current_records.errors.report(
            error, "The login at %s failed.", provider
        )

        if visible.code == 500:
            visible = GeneralError(FAILED)

        return _redirect_to(self._strategy(provider).failure_url(target, visible))

    def _strategy(self, provider: str) -> OAuthStrategy:
        return t.cast("OAuthStrategy", self._service.strategy(provider))

    def _client(self, provider: str) -> ProviderClient:
        if provider not in self._clients:
            raise NotFound(f"There is no login with '{provider}'.")

        return self._clients[provider]


def _log_in(service: AuthenticationService, login: OAuthLogin, query: Record) -> Record:
    """Return the result of the call that logs a user in."""
    data, title = {"strategy": login.provider.name}, login.provider.title
    conflicts = {
        service.username: "There is a user with this email already. Log in as this"
        f" user, then connect {title}.",
        login.provider.id_field: f"This {title} login belongs to another user.",
    }

    def call() -> Record:
        params = Params(query=dict(query), extra={LOGIN: login})

        # Nobody would commit after a view of OAuth what the session holds.
        with Transaction(is_final=True):
            return t.cast("Record", service.as_service.create(data, params))

    try:
        return call()
    except Conflict:
        # The first login of a profile may run twice at once.
        try:
            return call()
        except Conflict as error:
            for field, message in conflicts.items():
                if field in error.errors:
                    raise Conflict(message) from error

            raise


def _is_kept(fields: Fields, name: str, value: t.Any) -> bool:
    """Return whether users have a field of a login, which fits if it is optional."""
    if name not in OPTIONAL_FIELDS:
        return name in fields.names

    try:
        fields.stored[name].conversion.read(value)
    except (KeyError, ValueError):
        return False

    return True


def _callback_url(provider: str) -> str:
    return url_for(".callback", provider=provider, _external=True)


def _redirect_to(url: str, status: int = 302) -> Response:
    """Return a redirect whose body does not show what is in the address."""
    response = empty(status)
    response.location = url
    return response


def _keep_private(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "no-referrer"
    return forbid_sniffing(response)
