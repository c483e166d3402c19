"""Clients of OAuth providers, on Authlib's client for Flask."""

from __future__ import annotations

import re
import typing as t
from urllib.parse import urljoin

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.flask_client import FlaskIntegration, FlaskOAuth2App
from authlib.integrations.requests_client import OAuth2Session
from joserfc.errors import BadSignatureError, JoseError
from joserfc.jwk import KeySet
from requests import HTTPError

from ..http.origins import origin_of
from ..pagination import without
from .oauth_errors import (
    describe,
    InvalidResponse,
    PROVIDER_ERRORS,
    ProviderError,
    raise_error_in,
)

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from requests import Response

    from ..typing import Record
    from .providers import Provider

TIMEOUT: t.Final = 5
"""The number of seconds that a provider may be silent."""

SIGNATURES: t.Final = re.compile(r"(RS|PS|ES)(256|384|512)|EdDSA|Ed25519|ES256K")
"""The algorithms that sign ID tokens with a key of the provider alone."""

ENDPOINTS: t.Final[Mapping[str, str]] = {
    "authorization_endpoint": "authorize_url",
    "token_endpoint": "access_url",
    "userinfo_endpoint": "profile_url",
    "jwks_uri": "",
}
"""The addresses in the configuration of a provider, and the settings before them."""

NAMES_ISSUER: t.Final = "authorization_response_iss_parameter_supported"

ALGORITHMS: t.Final = "id_token_signing_alg_values_supported"

TENANT = re.compile(r"[0-9a-f-]{36}")

TENANT_PLACEHOLDER: t.Final = "{tenantid}"
"""The placeholder of a directory in the issuer of Microsoft."""


class ProviderSession(OAuth2Session):  # type: ignore[misc]  # it has no hints
    """Sends requests, and follows no redirect to another origin: it would take a token,
    a code or the secret there.
    """

    def get_redirect_target(self, response: Response) -> str | None:
        """Return where a response leads.

        :raises InvalidResponse: It leads to another origin.
        """
        target = t.cast("str | None", super().get_redirect_target(response))
        origin = origin_of(response.url)

        if target and origin_of(urljoin(response.url, target)) != origin:
            response.close()
            raise InvalidResponse(f"{origin} redirects to another host.")

        return target


class ProviderClient(FlaskOAuth2App):  # type: ignore[misc]  # it has no hints
    """A client of a provider. Its methods raise what Authlib and requests do if the
    provider does not respond, or if its response is invalid.
    """

    client_cls = ProviderSession

    def __init__(self, provider: Provider) -> None:
        super().__init__(
            FlaskIntegration(provider.name),
            provider.name,
            client_id=provider.key,
            client_secret=provider.secret,
            authorize_url=provider.authorize_url,
            access_token_url=provider.access_url,
            authorize_params=provider.params,
            server_metadata_url=provider.discovery_url,
            client_kwargs={
                "scope": provider.scope,
                "token_endpoint_auth_method": provider.token_endpoint_auth_method,
                "code_challenge_method": "S256",
                "default_timeout": TIMEOUT,
            },
        )
        self._provider = provider
        self.forget()

    def forget(self) -> None:
        """Request the configuration again with the next login."""
        self.server_metadata = {"userinfo_endpoint": self._provider.profile_url}

    def load_server_metadata(self) -> Record:
        """Return the configuration, which the first login requests. It has known parts
        only: Authlib takes any others for options of its client.
        """
        if self._server_metadata_url and "issuer" not in self.server_metadata:
            with self._get_session() as session:
                response = session.get(self._server_metadata_url, withhold_token=True)
                response.raise_for_status()
                self.server_metadata = self._parse(_object(response))

        return t.cast("Record", self.server_metadata)

    def _parse(self, configuration: Record) -> Record:
        issuer = configuration.get("issuer")

        if not isinstance(issuer, str) or not issuer:
            raise InvalidResponse("The issuer is not text.")

        found: Record = {}

        for name, setting in ENDPOINTS.items():
            url = getattr(self._provider, setting, None) or configuration.get(name)

            if url or name != "userinfo_endpoint":
                found[name] = _url(name, url)

        algorithms = configuration.get(ALGORITHMS) or ["RS256"]
        return {
            **found,
            "issuer": issuer,
            NAMES_ISSUER: configuration.get(NAMES_ISSUER) is True,
            # Secrets sign nothing here: a key that is published is none.
            ALGORITHMS: [name for name in algorithms if SIGNATURES.fullmatch(name)],
        }

    def fetch_jwk_set(self, force: bool = False) -> Record:
        """Return the keys that can be used: others must not spoil them."""
        keys = super().fetch_jwk_set(force)["keys"]
        usable = [key for key in keys if _is_usable(key)]

        if not usable:
            raise InvalidResponse("There are no keys.")

        return {"keys": usable}

    def raw_profile(self, started: Record, answer: Mapping[str, str]) -> Record:
        """Return the profile of a login as the provider sends it.

        :param started: The login, as it began.
        :param answer: The answer of the provider, with the code.
        """
        self._check_issuer(answer.get("iss"))
        token = self._token(started, answer["code"])
        claims = self._claims(token, started.get("nonce"))
        # The provider decides whether a token has expired. Authlib would refuse one
        # with a lifetime of less than a minute.
        token = without(token, {"expires_in", "expires_at"})
        raw = self._profile(token)

        if claims and raw.get("sub", claims["sub"]) != claims["sub"]:
            raise InvalidResponse("The profile is of another user.")

        email = {} if raw.get("email") else self._email(token)
        return {**raw, **email, **claims}

    def _check_issuer(self, answered: str | None) -> None:
        """Refuse an answer of another provider before that gets the code: RFC 9207."""
        metadata = self.load_server_metadata()
        issuer = metadata.get("issuer")

        # A provider without a configuration has no known issuer.
        if issuer is None or (answered is None and not metadata[NAMES_ISSUER]):
            return

        tenant = re.escape(TENANT_PLACEHOLDER)
        pattern = re.escape(issuer).replace(tenant, TENANT.pattern)

        if not re.fullmatch(pattern, answered or ""):
            raise InvalidResponse("The answer is from another issuer.")

    def _token(self, started: Record, code: str) -> Record:
        place = "token endpoint"

        try:
            token = self.fetch_access_token(
                redirect_uri=started["redirect_uri"],
                code=code,
                code_verifier=started["code_verifier"],
            )
        except OAuthError as error:
            raise ProviderError(error.error, place) from error
        except HTTPError as error:
            raise_error_in(error.response, place)
            raise

        if not isinstance(token.get("access_token"), str) or not token["access_token"]:
            raise InvalidResponse("There is no access token.")

        return t.cast("Record", token)

    def _claims(self, token: Record, nonce: str | None) -> Record:
        """Return the claims of a valid ID token, of a provider that has some."""
        issuer = self.load_server_metadata().get("issuer")

        if issuer is None:
            return {}

        if "id_token" not in token:
            raise InvalidResponse("There is no ID token.")

        def is_issuer(claims: Record, value: t.Any) -> bool:
            return bool(value == _issuer(issuer, claims))

        options = {"iss": {"essential": True, "validate": is_issuer}}

        try:
            claims = self.parse_id_token(token, nonce, claims_options=options)
        except BadSignatureError:
            # There may be another key by the same name.
            self.fetch_jwk_set(force=True)
            claims = self.parse_id_token(token, nonce, claims_options=options)

        audience = claims["aud"]
        audiences = audience if isinstance(audience, list) else [audience]

        if self.client_id not in audiences or claims["nonce"] != nonce:
            raise InvalidResponse("The ID token is for another application.")

        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise InvalidResponse("The ID token has no subject.")

        return dict(claims)

    def _profile(self, token: Record) -> Record:
        url = self.load_server_metadata().get("userinfo_endpoint")

        if url is None:
            return {}

        headers = {
            name: value.format(key=self.client_id)
            for name, value in self._provider.profile_headers.items()
        }
        response = self._get(url, token, **headers)

        if not response.ok:
            raise_error_in(response, "profile")
            response.raise_for_status()

        return _object(response)

    def _email(self, token: Record) -> Record:
        """Return the verified primary email of a user, in a field for it."""
        if self._provider.emails_url is None:
            return {}

        response = self._get(self._provider.emails_url, token)

        # A user without an email for now would never get one.
        if response.status_code >= 500:
            response.raise_for_status()

        # The user may have allowed the profile alone.
        emails = response.json() if response.ok else []
        primary = (
            email.get("email")
            for email in (emails if isinstance(emails, list) else [])
            if isinstance(email, dict)
            and email.get("primary") is True
            and email.get("verified") is True
        )
        return {"email": next(primary, None)}

    def _get(self, url: str, token: Record, **headers: str) -> Response:
        headers["Accept"] = "application/json"
        return t.cast("Response", self.get(url, token=token, headers=headers))


def _object(response: Response) -> Record:
    content = response.json()

    if not isinstance(content, dict):
        raise InvalidResponse("The response is not an object.")

    return content


def _url(name: str, value: t.Any) -> str:
    # The origin has no halves of characters.
    if not isinstance(value, str) or origin_of(value) is None:
        raise InvalidResponse(f"Its {name!r} is not an address.")

    return value


def _is_usable(key: t.Any) -> bool:
    try:
        KeySet.import_key_set({"keys": [key]})
    except (JoseError, AttributeError, LookupError, TypeError, ValueError):
        return False

    return True


def _issuer(issuer: str, claims: Record) -> str | None:
    if TENANT_PLACEHOLDER not in issuer:
        return issuer

    tenant = claims.get("tid")

    if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
        return None

    return issuer.replace(TENANT_PLACEHOLDER, tenant)


def check_provider(provider: Provider) -> Iterator[tuple[str, str, str | None]]:
    """Request the addresses of a provider, without key and secret, and yield each: the
    setting for it, the address, and the reason why it can't be used, or ``None``.
    Endpoints respond with an error to that: it counts that they respond.
    """
    client = ProviderClient(provider)

    try:
        metadata = client.load_server_metadata()
    except PROVIDER_ERRORS as error:
        yield "discovery_url", t.cast("str", provider.discovery_url), describe(error)
        return

    for name, url in {
        "discovery_url": provider.discovery_url,
        "authorize_url": metadata.get("authorization_endpoint", provider.authorize_url),
        "access_url": metadata.get("token_endpoint", provider.access_url),
        "profile_url": metadata.get("userinfo_endpoint"),
        "keys_url": metadata.get("jwks_uri"),
        "emails_url": provider.emails_url,
    }.items():
        if url is not None:
            yield name, url, _problem_of(url)


def _problem_of(url: str) -> str | None:
    try:
        # Users are redirected to pages elsewhere.
        response = requests.get(url, timeout=TIMEOUT, allow_redirects=False)

        if response.status_code >= 500:
            response.raise_for_status()
    except PROVIDER_ERRORS as error:
        return describe(error)

    return None
