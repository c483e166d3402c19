"""ID tokens of OpenID Connect."""

from __future__ import annotations

import re
import typing as t

from authlib.integrations.base_client import OpenIDMixin

from .provider_session import InvalidResponse

if t.TYPE_CHECKING:
    from ..typing import Record
    from .provider_metadata import ProviderMetadata

TENANT = re.compile(r"[0-9a-f-]{36}")

TENANT_PLACEHOLDER: t.Final = "{tenantid}"
"""The placeholder of a directory in the issuer of Microsoft."""


class IDTokens(OpenIDMixin):  # type: ignore[misc]  # it has no hints
    """Verifies ID tokens with the keys in the metadata of a provider."""

    def __init__(self, client_id: str, metadata: ProviderMetadata) -> None:
        self.client_id = client_id
        self._metadata = metadata

    def load_server_metadata(self) -> Record:
        """Return the metadata that Authlib asks for."""
        algorithms = list(self._metadata.algorithms)
        return {"id_token_signing_alg_values_supported": algorithms}

    def fetch_jwk_set(self, force: bool = False) -> Record | None:
        """Return the keys. They are requested elsewhere."""
        return self._metadata.keys

    def claims(self, token: Record, nonce: str) -> Record:
        """Return the claims of the ID token of a login.

        :param token: The response of the provider, which has the ID token.
        :param nonce: The nonce of the login.
        :raises Exception: It is not valid.
        """
        if "id_token" not in token:
            raise InvalidResponse("There is no ID token.")

        issuer = self._metadata.issuer

        def is_issuer(claims: Record, value: t.Any) -> bool:
            return bool(value == _issuer(t.cast("str", issuer), claims))

        options = {"iss": {"essential": True, "validate": is_issuer}}
        claims = dict(self.parse_id_token(token, nonce, claims_options=options))
        audience = claims["aud"]
        audiences = audience if isinstance(audience, list) else [audience]

        if self.client_id not in audiences or claims["nonce"] != nonce:
            raise InvalidResponse("The ID token is for another application.")

        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise InvalidResponse("The ID token has no subject.")

        return claims


def check_issuer(metadata: ProviderMetadata, answered: str | None) -> None:
    """Refuse an answer of another provider before that gets the code: see RFC 9207.

    :raises InvalidResponse: The answer is from another issuer.
    """
    issuer, is_optional = metadata.issuer, not metadata.answers_name_issuer

    # A provider without a configuration has no known issuer.
    if issuer is None or (answered is None and is_optional):
        return

    pattern = re.escape(issuer).replace(re.escape(TENANT_PLACEHOLDER), TENANT.pattern)

    if not re.fullmatch(pattern, answered or ""):
        raise InvalidResponse("The answer is from another issuer.")


def _issuer(issuer: str, claims: Record) -> str | None:
    if TENANT_PLACEHOLDER not in issuer:
        return issuer

    tenant = claims.get("tid")

    if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
        return None

    return issuer.replace(TENANT_PLACEHOLDER, tenant)
