"""The services of an application, as the explorer shows them to one caller."""

from __future__ import annotations

import typing as t

from flask import current_app
from flask import request

from ..errors import RecordsError
from ..openapi.document import REALTIME
from ..openapi.page_logins import page_logins
from ..openapi.page_logins import root_of
from ..openapi.rights import services_for
from .services import described
from .services import is_readable

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..context import Params
    from ..typing import Record


def description_for(params: Params, route: Mapping[str, t.Any]) -> Record:
    """Return what the explorer shows to a caller: the services that the caller may
    use, each with the methods that the caller may call, as JSON values.

    :param params: The params of the caller, with its login.
    :param route: The values of placeholders in the prefix of services.
    """
    services = list(services_for(params, only_usable=True))
    readable = {each.service.path for each in services if is_readable(each.service)}
    authenticator = params.authenticator
    return {
        **entrance(route),
        "hasCalls": current_app.debug,
        "user": _user(params),
        "userPath": authenticator.users_path if authenticator else None,
        "services": [described(each, readable) for each in services],
    }


def entrance(route: Mapping[str, t.Any]) -> Record:
    """Return what a caller needs to log in: no more than the application tells anybody.

    :param route: The values of placeholders in the prefix of services.
    """
    root = root_of(route)
    return {
        "name": current_app.name,
        "prefix": root,
        "realtime": _realtime(),
        "logins": page_logins(root),
    }


def _realtime() -> Record | None:
    server = current_app.extensions.get(REALTIME)

    if server is None:
        return None

    return {"path": f"{request.script_root}{server.wsgi.path.rstrip('/')}"}


def _user(params: Params) -> t.Any:
    """Return the caller as the caller may see it, or at least its identifier."""
    authenticator = params.authenticator

    if authenticator is None or params.user_id is None:
        return None

    try:
        return authenticator.users.part_of_call(params).get(params.user_id)
    except RecordsError:
        return {authenticator.id: params.user_id}
