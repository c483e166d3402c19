"""Who makes a call: found out before the call runs."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from itertools import combinations

from ..errors import RecordsError
from ..http.blueprint import PROVIDER as REST

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Collection
    from collections.abc import Mapping

    from flask import Flask

    from ..context import HookContext
    from ..context import Params
    from .service import AuthenticationService

OWN_PARAMS: t.Final = frozenset({"accessToken", "authentication", "user"})
"""What a result has that is not handed on as extra."""


@dataclass(frozen=True)
class Access:
    """Finds out who calls a service, and refuses those that it can't accept."""

    path: str
    """The path of the service that is called."""

    find_service: Callable[[], AuthenticationService | None]
    """Returns the authentication service to ask."""

    strategies: Collection[str]
    """The names of the strategies that are accepted."""

    named: str | None = None
    """The path of the authentication service, if the application has named one."""

    def check(self) -> None:
        """Look at the names that the application has given.

        :raises RuntimeError: There is no such authentication service, or it has no such
            strategy.
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
                    f" strategy. There is: {', '.join(service.strategies)}."
                )

    def __call__(self, context: HookContext) -> None:
        """Set what is known of the caller. What is wrong is ignored where the method is
        public.

        :param context: The call.
        :raises NotAuthenticated: What the caller sent is not valid.
        """
        params = context.params
        service = self.find_service()

        if service is None or self._is_accepted(params):
            return

        # Other transports keep a login themselves, until it is logged out.
        if params.authentication is None and params.provider == REST:
            params.authentication = service.parse(params.headers)

        if params.authentication is None:
            return

        try:
            admit(service, params, self.strategies)
        except RecordsError as error:
            if context.method not in context.service.public or _is_ours(error):
                raise

    def accepts(self, params: Params) -> bool:
        """Return whether a login that was found valid is one that is accepted here.

        :param params: What was found out about it.
        """
        strategy = (params.authentication or {}).get("strategy")
        is_own = params.authenticator is self.find_service()
        return params.authenticated and is_own and strategy in self.strategies

    def _is_accepted(self, params: Params) -> bool:
        """Return whether a login was found out before, as for a call that another one
        makes. One that this service does not accept counts for nothing.
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
    """Check ``params.authentication``, and set what is known of the caller.

    :param service: The authentication service to ask.
    :param params: The params of his call.
    :param strategies: The names of the strategies that are accepted.
    :raises NotAuthenticated: It was refused.
    """
    result = service.authenticate(params.authentication, params, strategies)
    params.authentication = result["authentication"]
    params.authenticated = True
    params.authenticator = service
    params.user = result.get("user")
    known = params.user if isinstance(params.user, dict) else {}
    params.user_id = known.get(service.id)
    params.extra.update({k: v for k, v in result.items() if k not in OWN_PARAMS})


def check_apart(app: Flask, services: Mapping[str, AuthenticationService]) -> None:
    """Refuse authentication services that would accept each other's tokens.

    :param app: The application, whose settings they have read.
    :param services: The authentication services, by path.
    :raises RuntimeError: A token of one would let in at another.
    """
    for (other, its), (path, service) in combinations(services.items(), 2):
        tokens, others = (one.settings_of(app).tokens for one in (service, its))

        if tokens.shares_keys_with(others):
            raise RuntimeError(
                f"A token of '{other}' would let in at '{path}'. Give one of them"
                " settings with an 'audience' of its own."
            )


def _is_ours(error: RecordsError) -> bool:
    return error.code is None or error.code >= 500
