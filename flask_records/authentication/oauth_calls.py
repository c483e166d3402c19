"""The call of the authentication service at the end of a login at a provider."""

from __future__ import annotations

import typing as t

from ..context import Params
from ..errors import BadRequest
from ..errors import Conflict
from ..transaction import Transaction
from .oauth_strategy import LOGIN
from .oauth_strategy import SHOWN_FIELDS

if t.TYPE_CHECKING:
    from ..typing import Record
    from .oauth_strategy import OAuthLogin
    from .service import AuthenticationService


def result_of(
    service: AuthenticationService, login: OAuthLogin, query: Record
) -> Record:
    """Return the result of the call that logs a user in. If a hook refuses the name or
    the image of the profile, it is called again without them.

    :param query: The query of the call.
    :raises Conflict: The email, or the profile, belongs to another user.
    """
    try:
        return _result_of(service, login, query)
    except BadRequest as error:
        errors = error.errors
        refused = frozenset(errors) if isinstance(errors, dict) else frozenset()

        if not refused or not refused <= SHOWN_FIELDS:
            raise

        return _result_of(service, login._replace(refused=refused), query)


def _result_of(
    service: AuthenticationService, login: OAuthLogin, query: Record
) -> Record:
    data = {"strategy": login.provider.name}

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
            raise _explained(service, login, error) from error


def _explained(
    service: AuthenticationService, login: OAuthLogin, error: Conflict
) -> Conflict:
    title = login.provider.title

    if service.username in error.errors:
        return Conflict(
            "There is a user with this email already. Log in as this user, then"
            f" connect {title}."
        )

    if login.provider.id_field in error.errors:
        return Conflict(f"This {title} login belongs to another user.")

    return error
