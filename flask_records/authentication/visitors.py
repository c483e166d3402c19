"""The callers of requests that are no calls of a service."""

from __future__ import annotations

import typing as t

from ..context import Params
from ..errors import NotAuthenticated
from ..globals import current_records
from ..http.blueprint import PROVIDER
from .access import admit

if t.TYPE_CHECKING:
    from werkzeug.datastructures import Headers


def params_of_visitor(headers: Headers) -> Params:
    """Return the params of the caller of a request, with its login if it has one that
    an authentication service accepts.

    :raises NotAuthenticated: No authentication service accepts its credentials.
    """
    params = Params(provider=PROVIDER, headers=headers)
    refusal: NotAuthenticated | None = None

    for authentication in current_records.authentications.values():
        credentials = authentication.parse(headers)

        if credentials is None:
            continue

        params.authentication = credentials

        try:
            admit(authentication, params, (credentials["strategy"],))
        except NotAuthenticated as error:
            refusal = refusal or error
        else:
            return params

    if refusal is not None:
        raise refusal

    return params
