"""The ways to authenticate, as OpenAPI describes them."""

from __future__ import annotations

import typing as t

from ..authentication import Strategy
from ..http.placeholders import fill_placeholders
from ..http.routes import current_routes

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ..extension import FlaskRecords
    from ..service.schemas import Schema
    from .description import ServiceDescription

TOKEN: t.Final = "token"
"""The name of the scheme of access tokens."""

NAMES: t.Final[Mapping[str, str]] = {"jwt": TOKEN}
"""The names of schemes that are not those of their strategies."""

ISSUED: t.Final = "The accessToken of the answer to {paths}."

ISSUED_BY_PROVIDERS: t.Final = (
    " Browsers get one at GET {root}/oauth/{{provider}}, too. It is not a flow of OAuth"
    " 2.0 for clients."
)


def schemes_of(records: FlaskRecords) -> dict[str, Schema]:
    """Return the schemes of all strategies that read the headers of requests."""
    return {
        NAMES.get(name, name): {
            "description": _ways_to_tokens(records)
            if name in NAMES
            else f"The strategy '{name}'.",
            **(strategy.scheme or UNKNOWN),
        }
        for authentication in records.authentications.values()
        for name, strategy in authentication.strategies.items()
        if isinstance(strategy, Strategy) and strategy.parse is not None
    }


def _ways_to_tokens(records: FlaskRecords) -> str:
    """Return the text about access tokens."""
    issuers = records.authentications
    root = fill_placeholders(current_routes().mount.url_prefix, "{{{}}}".format)
    paths = " or ".join(f"POST {root}/{path}" for path in issuers)
    has_providers = any(each.settings.oauth.providers for each in issuers.values())
    text = ISSUED.format(paths=paths)
    return text + (ISSUED_BY_PROVIDERS.format(root=root) if has_providers else "")


def security_of(records: FlaskRecords, service: ServiceDescription) -> list[Schema]:
    """Return the schemes of which a call of a service needs one."""
    schemes = schemes_of(records)
    names = [NAMES.get(name, name) for name in service.strategies]
    return [{name: []} for name in names if name in schemes]


UNKNOWN: t.Final[Schema] = {"type": "apiKey", "in": "header", "name": "Authorization"}
"""The scheme of a strategy that has none of its own."""
