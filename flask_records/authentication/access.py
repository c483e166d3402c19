"""Authentication of the caller, before the call runs."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from itertools import combinations

from ..errors import RecordsError
from ..http.blueprint import PROVIDER as REST

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from flask import Flask

    from ..context import HookContext, Params
    from .service import AuthenticationService

OWN_PARAMS: t.Final = frozenset({"accessToken", "authentication", "user"})
"""The parts of a result that do not go into ``params.extra``."""


@dataclass(frozen=True)
class Access:
    """Authenticates the callers of a service."""

    path: str
    """The path of the service that is called."""

    find_service: Callable[[], AuthenticationService | None]
    """Returns the authentication service to ask."""

    strategies: Collection[str]
    """The names of the strategies that are accepted."""

    named: str | None = None
    """The path of the authentication service, if the application names one."""

    def check(self) -> None:
        """Check the names that the application gave.

        :raises RuntimeError: There is no such authentication service or strategy.
        """
        service = self.find_service()

        if service is None and self.named is not None:
            raise RuntimeError(
                f"The service '{self.path}' asks '{self.named}', which is not an"
                " authentication service."
            )

        if service is None:
            return

        for name in self.strategies:
            if name not in service.strategies:
                raise RuntimeError(
                    f"The service '{self.path}' accepts '{name}', which is not a"
                    f" strategy. The strategies are: {', '.join(service.strategies)}."
                )

    def __call__(self, context: HookContext) -> None:
        """Set the user of a call. A public method ignores invalid credentials.

        :raises NotAuthenticated: The credentials are not valid.
        """
        params = context.params
        service = self.find_service()

        if service is None or self._is_accepted(params):
            return

        # Other transports have the credentials of their connection.
        if params.authentication is None and params.provider == REST:
            params.authentication = service.parse(params.headers)

        if params.authentication is None:
            return

        try:
            admit(service, params, self.strategies)
        except RecordsError as error:
            is_public = context.method in context.service.public

            # Failures of the server are no invalid credentials.
            if not is_public or error.code is None or error.code >= 500:
                raise

    def accepts(self, params: Params) -> bool:
        """Return whether the service accepts a valid login."""
        strategy = (params.authentication or {}).get("strategy")
        is_own = params.authenticator is self.find_service()
        return params.authenticated and is_own and strategy in self.strategies

    def _is_accepted(self, params: Params) -> bool:
        """Return whether the call is authenticated already, as one that another call
        makes. A login that this service does not accept is taken off.
        """
        if params.authenticator is None:
            return params.authenticated

        if not self.accepts(params):
            params.authenticated = False
            params.user = params.user_id = None

        return True


def admit(
    service: AuthenticationService, params: Params, strategies: Collection[str]
) -> None:
    """Check ``params.authentication``, and set the user of a call.

    :raises NotAuthenticated: The credentials are not valid.
    """
    result = service.authenticate(params.authentication, params, strategies)
    params.authentication = result["authentication"]
    params.authenticated = True
    params.authenticator = service
    params.user = result.get("user")
    params.user_id = None

    if isinstance(params.user, dict):
        params.user_id = params.user.get(service.id)

    if not OWN_PARAMS.issuperset(result):
        params.extra.update({k: v for k, v in result.items() if k not in OWN_PARAMS})


def check_apart(app: Flask, services: Mapping[str, AuthenticationService]) -> None:
    """Refuse authentication services that would accept each other's tokens.

    :raises RuntimeError: One would accept a token of another.
    """
    for (other, its), (path, service) in combinations(services.items(), 2):
        tokens = service.settings_of(app).tokens

        if tokens.shares_keys_with(its.settings_of(app).tokens):
            raise RuntimeError(
                f"'{path}' would accept tokens of '{other}'. Give one of them settings"
                " with an 'audience' of its own."
            )
