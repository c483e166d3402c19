"""The callers of services and pages, authenticated before the call runs."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..errors import Forbidden, NotAuthenticated, RecordsError
from ..http.blueprint import PROVIDER as REST
from ..service.context import Params
from ..service.results import without
from .records import current_records
from .strategies import ACCESS_TOKEN

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from flask import Flask
    from werkzeug.datastructures import Headers

    from ..service import Service
    from ..service.context import HookContext
    from .service import AuthenticationService

OWN_PARAMS: t.Final = frozenset({ACCESS_TOKEN, "authentication", "user"})
"""The parts of a result that do not go into ``params.extra``."""

NO_ISSUER: t.Final = """\
The service '{path}' needs a token for its calls, and nothing issues tokens. Add an \
authentication service, records.add("authentication", AuthenticationService()), or add \
this one with public=True to let everybody in.\
"""


@dataclass(frozen=True)
class Access:
    """Authenticates the callers of a service."""

    path: str
    """The path of the service that is called."""

    authentications: Mapping[str, AuthenticationService]
    """The authentication services by path."""

    strategies: Collection[str]
    """The names of the strategies that are accepted."""

    issuer: str | None = None
    """The path of the authentication service, if the application names one."""

    def check(self) -> None:
        """Refuse names of authentication services and strategies that do not exist."""
        service = self.find_service()

        if service is not None:
            beginning = f"The service '{self.path}' accepts"
            service.check_strategies(self.strategies, beginning)
        elif self.issuer is not None:
            raise RuntimeError(
                f"The service '{self.path}' asks '{self.issuer}', which is not an"
                " authentication service."
            )

    def __call__(self, context: HookContext) -> None:
        """Set the user of a call. A public method ignores invalid credentials."""
        self._log_in(context)

        if not is_in_scope(context.params, context.path, context.method):
            raise Forbidden(
                f"This login is not for '{context.method}' of '{context.path}'."
            )

    def _log_in(self, context: HookContext) -> None:
        params = context.params
        service = self.find_service()

        if service is None or self._is_accepted(params):
            return

        # Other transports have the credentials of their connection.
        if params.authentication is None and params.provider == REST:
            params.authentication = service.parse(params.headers, self.strategies)

        if params.authentication is None:
            return

        try:
            admit(service, params, self.strategies)
        except RecordsError as error:
            is_public = context.method in context.service.public

            # Failures of the server are not invalid credentials.
            if not is_public or error.code is None or error.code >= 500:
                raise

    def find_service(self) -> AuthenticationService | None:
        """Return the authentication service to ask, if there is one."""
        return find_authentication(self.authentications, self.issuer)

    def accepts(self, params: Params) -> bool:
        """Return whether the service accepts a valid login."""
        strategy = (params.authentication or {}).get("strategy")
        is_own = params.authenticator is self.find_service()
        return params.authenticated and is_own and strategy in self.strategies

    def _is_accepted(self, params: Params) -> bool:
        """Return whether the call is authenticated already, as a nested one. A login
        that this service does not accept is taken off.
        """
        if params.authenticator is None:
            return params.authenticated

        if not self.accepts(params):
            params.authenticated = False
            params.user = params.user_id = None

        return True


def is_in_scope(params: Params, path: str, method: str) -> bool:
    """Return whether the login of a call, if it has one, is for a method of a service:
    it is for all unless the strategy has returned ``scopes``.
    """
    login = params.authentication if params.authenticated else None
    scopes = login.get("scopes") if login else None
    return scopes is None or not {path, f"{path}.{method}"}.isdisjoint(scopes)


def find_authentication(
    services: Mapping[str, AuthenticationService], path: str | None
) -> AuthenticationService | None:
    """Return the authentication service at a path, or the first, if there is one."""
    first = next(iter(services.values()), None)
    return first if path is None else services.get(path.strip("/"))


def admit(
    service: AuthenticationService, params: Params, strategies: Collection[str]
) -> None:
    """Check ``params.authentication``, and set the user of a call."""
    result = service.authenticate(params.authentication, params, strategies)
    params.authentication = result["authentication"]
    params.authenticated = True
    params.authenticator = service
    params.user = result.get("user")
    params.user_id = None

    if isinstance(params.user, dict):
        params.user_id = params.user.get(service.id)

    params.extra.update(without(result, OWN_PARAMS))


def params_of_visitor(headers: Headers) -> Params:
    """Return the params of the caller of a request, with its login if it has one that
    an authentication service accepts.

    :raises NotAuthenticated: No authentication service accepts its credentials.
    """
    params = Params(provider=REST, headers=headers)
    refusals: list[NotAuthenticated] = []

    for service in current_records.authentications.values():
        params.authentication = service.parse(headers, service.strategies)

        if params.authentication is not None:
            try:
                admit(service, params, (params.authentication["strategy"],))
            except NotAuthenticated as error:
                refusals.append(error)
            else:
                return params

    if refusals:
        raise refusals[0]

    return params


def check_issuers(
    app: Flask,
    authentications: Mapping[str, AuthenticationService],
    services: Collection[Service],
) -> None:
    """Refuse services that need tokens which nothing issues, and authentication
    services that might accept each other's tokens.
    """
    for service in services:
        if not authentications and not service.public.issuperset(service.methods):
            raise RuntimeError(NO_ISSUER.format(path=service.path))

    paths: dict[tuple[str, str], str] = {}

    for path, issuer in authentications.items():
        tokens = issuer.settings_of(app).tokens
        other = paths.setdefault((tokens.audience, tokens.issuer), path)

        if other != path:
            raise RuntimeError(
                f"'{path}' would accept tokens of '{other}'. Give one of them settings"
                " with an 'audience' of its own."
            )
