"""The addresses and keys of a provider."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from dataclasses import fields
from dataclasses import replace

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from ..http.origins import origin_of
from .provider_session import InvalidResponse
from .provider_session import ProviderSession

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ..typing import Record
    from .providers import Provider

SIGNATURES: t.Final = re.compile(r"(RS|PS|ES)(256|384|512)|EdDSA|Ed25519|ES256K")
"""The algorithms that sign ID tokens with a key of the provider alone."""


KEY_ERRORS: t.Final = (JoseError, AttributeError, LookupError, TypeError, ValueError)
"""The errors of a key that is malformed, or of an unknown kind."""


@dataclass(frozen=True, kw_only=True)
class ProviderMetadata:
    """The addresses and keys of a provider, as they were at one moment. The settings
    of an address precede the configuration of the provider.
    """

    discovery_url: str | None = None
    """The address of the OpenID Connect configuration."""

    authorize_url: str
    """The address that users are sent to."""

    access_url: str
    """The address that exchanges the code for a token of the provider."""

    profile_url: str | None
    """The address of the profile of a user."""

    emails_url: str | None = None
    """The address of the emails of a user whose profile has none."""

    logout_url: str | None = None
    """The address that ends the session of a user at the provider."""

    keys_url: str | None = None
    """The address of the keys that sign ID tokens."""

    issuer: str | None = None
    """The issuer of ID tokens. Without a configuration it is not known."""

    answers_name_issuer: bool = False
    """``True`` if each answer names the issuer."""

    algorithms: tuple[str, ...] = ()
    """The algorithms that sign ID tokens."""

    keys: Record | None = None
    """The set of keys, as it was published."""

    @property
    def named_urls(self) -> Iterator[tuple[str, str]]:
        """All addresses, by their names."""
        for field in fields(self):
            value = getattr(self, field.name)

            if value is not None and field.name.endswith("_url"):
                yield field.name, value

    @property
    def urls(self) -> list[str]:
        """All addresses. No request of a login goes to other origins."""
        return [url for _, url in self.named_urls]


def read_metadata(provider: Provider) -> ProviderMetadata:
    """Return the addresses and keys of a provider, which are requested if it has an
    OpenID Connect configuration.

    :raises Exception: The provider does not respond, or its response is invalid.
    """
    if provider.discovery_url is None:
        return ProviderMetadata(
            authorize_url=_url("authorize_url", provider.authorize_url),
            access_url=_url("access_url", provider.access_url),
            profile_url=provider.profile_url,
            emails_url=provider.emails_url,
            logout_url=provider.logout_url,
        )

    with ProviderSession(provider, [provider.discovery_url]) as session:
        metadata = _parse(provider, _object_at(session, provider.discovery_url))

    with ProviderSession(provider, metadata.urls) as session:
        keys_url = t.cast("str", metadata.keys_url)
        keys = _object_at(session, keys_url)

    # Keys of kinds that are not known must not spoil the others.
    usable = [key for key in keys.get("keys", []) if _is_usable(key)]

    if not usable:
        raise InvalidResponse(f"There are no keys at {origin_of(keys_url)}.")

    return replace(metadata, keys={"keys": usable})


def _is_usable(key: t.Any) -> bool:
    try:
        KeySet.import_key_set({"keys": [key]})
    except KEY_ERRORS:
        return False

    return True


def _parse(provider: Provider, configuration: Record) -> ProviderMetadata:
    """Return the checked parts of a configuration, without the keys."""

    def url(name: str, setting: str | None) -> str:
        return _url(name, setting or configuration.get(name))

    def optional_url(name: str, setting: str | None) -> str | None:
        return url(name, setting) if setting or configuration.get(name) else None

    issuer = configuration.get("issuer")

    if not isinstance(issuer, str) or not issuer:
        raise InvalidResponse("The issuer is not text.")

    names = configuration.get("id_token_signing_alg_values_supported") or ["RS256"]
    iss = configuration.get("authorization_response_iss_parameter_supported")
    return ProviderMetadata(
        authorize_url=url("authorization_endpoint", provider.authorize_url),
        access_url=url("token_endpoint", provider.access_url),
        profile_url=optional_url("userinfo_endpoint", provider.profile_url),
        emails_url=provider.emails_url,
        logout_url=optional_url("end_session_endpoint", provider.logout_url),
        discovery_url=provider.discovery_url,
        keys_url=url("jwks_uri", None),
        issuer=issuer,
        answers_name_issuer=iss is True,
        algorithms=tuple(name for name in names if SIGNATURES.fullmatch(name)),
    )


def _object_at(session: ProviderSession, url: str) -> Record:
    response = session.get(url, withhold_token=True)
    response.raise_for_status()
    content = response.json()

    if not isinstance(content, dict):
        raise InvalidResponse(f"The response of {origin_of(url)} is not an object.")

    return content


def _url(name: str, value: t.Any) -> str:
    # The origin has no halves of characters.
    if not isinstance(value, str) or origin_of(value) is None:
        raise InvalidResponse(f"Its {name!r} is not an address.")

    return value
