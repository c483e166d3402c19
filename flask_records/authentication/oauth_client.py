"""Conversations with OAuth providers."""

from __future__ import annotations

import re
import threading
import time
import typing as t
from concurrent.futures import Future

from authlib.integrations.flask_client import FlaskOAuth2App
from authlib.integrations.flask_client import OAuth

from ..pagination import without
from .redirects import origin_of

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    from ..typing import Record
    from .providers import Provider

TIMEOUT: t.Final = 3
"""The number of seconds that a provider may be silent."""

DEADLINE: t.Final = 8
"""The number of seconds of a conversation."""

TENANT = re.compile(r"[0-9a-f-]{36}")

TENANT_PLACEHOLDER: t.Final = "{tenantid}"
"""The placeholder of a directory in the issuer of Microsoft."""

ISSUER_IN_ANSWERS: t.Final = "authorization_response_iss_parameter_supported"
"""The part of a configuration that is true if each answer names the issuer."""

ENDPOINTS: t.Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")

SIGNATURES: t.Final = re.compile(r"(RS|PS|ES)(256|384|512)|EdDSA|Ed25519|ES256K")
"""The algorithms that sign ID tokens with a key of the provider alone."""


class ProviderClient(FlaskOAuth2App):  # type: ignore[misc]  # it has no hints
    """A client of a provider, with the checked parts of its configuration."""

    @property
    def is_ready(self) -> bool:
        """``True`` once the addresses of the provider are known."""
        return not self._server_metadata_url or "_loaded_at" in self.server_metadata

    def load_server_metadata(self) -> Record:
        """Return the addresses of the provider, which are requested once.

        :raises ValueError: They are not valid.
        """
        if not self.is_ready:
            with self._get_session() as session:
                url = self._server_metadata_url
                answer = session.request("GET", url, withhold_token=True)
                answer.raise_for_status()

            self.server_metadata.update(_metadata(answer.json()))

        return t.cast("Record", self.server_metadata)


class Registry(OAuth):  # type: ignore[misc]  # it has no hints
    """The clients of an application."""

    oauth2_client_cls = ProviderClient


class Conversations:
    """Conversations with a provider, in threads of their own: a slow one holds neither
    a login for long nor all threads of the server.

    :param deadline: The number of seconds of a conversation.
    """

    def __init__(self, limit: int, deadline: float = DEADLINE) -> None:
        self._slots = threading.BoundedSemaphore(limit)
        self._deadline = deadline

    def ask(self, function: Callable[..., t.Any], *args: t.Any) -> t.Any:
        """Return the result of a function, unless it takes too long. A slow one
        continues in its thread, and counts until it ends.

        :raises TooBusy: Too many are running.
        :raises TimeoutError: It took too long.
        """
        if not self._slots.acquire(blocking=False):
            raise TooBusy

        outcome: Future[t.Any] = Future()

        def run() -> None:
            try:
                outcome.set_result(function(*args))
            except Exception as error:
                outcome.set_exception(error)
            finally:
                self._slots.release()

        thread = threading.Thread(target=run, daemon=True)

        try:
            thread.start()
        except RuntimeError:
            self._slots.release()
            raise

        # The slot is free once the thread has ended.
        thread.join(self._deadline)
        return outcome.result(timeout=0)


class TooBusy(RuntimeError):
    """Too many conversations with a provider are running."""


def client_options(provider: Provider) -> Record:
    """Return the arguments for the client of a provider."""
    return {
        "overwrite": True,
        "client_id": provider.key,
        "client_secret": provider.secret,
        "server_metadata_url": provider.discovery_url,
        "authorize_url": provider.authorize_url,
        "access_token_url": provider.access_url,
        "authorize_params": dict(provider.params),
        "client_kwargs": {
            "scope": provider.scope,
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT,
            "token_endpoint_auth_method": provider.token_endpoint_auth_method,
        },
    }


def raw_profile(
    client: ProviderClient,
    provider: Provider,
    started: Record,
    answer: Mapping[str, str],
) -> Record:
    """Return the profile of a login as the provider sends it.

    :raises Exception: The provider does not respond, or its response is invalid.
    """
    _check_issuer(client.load_server_metadata(), answer.get("iss"))
    token = client.fetch_access_token(
        code=answer["code"],
        redirect_uri=started["redirect_uri"],
        code_verifier=started["code_verifier"],
    )
    claims = _claims(client, token, started["nonce"]) if provider.discovery_url else {}
    # The provider decides whether a token has expired. Authlib would refuse one with a
    # lifetime of less than a minute.
    token = without(token, {"expires_in", "expires_at"})
    url = provider.profile_url or client.load_server_metadata().get("userinfo_endpoint")
    raw = _profile(client, provider, url, token) if url else {}

    if provider.emails_url and not raw.get("email"):
        raw["email"] = _email(client, provider.emails_url, token)

    if claims and raw.get("sub", claims["sub"]) != claims["sub"]:
        raise ValueError("The profile is of another user.")

    return {**raw, **claims}


def _metadata(answer: t.Any) -> Record:
    """Return the checked parts of the configuration of a provider."""
    issuer, userinfo = answer["issuer"], answer.get("userinfo_endpoint")

    if not isinstance(issuer, str) or not issuer:
        raise ValueError("The issuer is not text.")

    algorithms = answer.get("id_token_signing_alg_values_supported") or ["RS256"]
    return {
        **{name: _url(answer[name]) for name in ENDPOINTS},
        "issuer": issuer,
        "userinfo_endpoint": _url(userinfo) if userinfo else None,
        "id_token_signing_alg_values_supported": [
            name for name in algorithms if SIGNATURES.fullmatch(name)
        ],
        ISSUER_IN_ANSWERS: answer.get(ISSUER_IN_ANSWERS) is True,
        "_loaded_at": time.time(),
    }


def _url(value: t.Any) -> str:
    if not isinstance(value, str) or origin_of(value) is None:
        raise ValueError("An endpoint is not an address.")

    value.encode()
    return value


def _check_issuer(metadata: Record, answered: str | None) -> None:
    """Refuse an answer of another provider before that gets the code: see RFC 9207."""
    issuer = metadata.get("issuer")
    is_optional = not metadata.get(ISSUER_IN_ANSWERS)

    # A provider without a configuration has no known issuer.
    if issuer is None or (answered is None and is_optional):
        return

    pattern = re.escape(issuer).replace(re.escape(TENANT_PLACEHOLDER), TENANT.pattern)

    if not re.fullmatch(pattern, answered or ""):
        raise ValueError("The answer is from another issuer.")


def _claims(client: ProviderClient, token: Record, nonce: str) -> Record:
    """Return the claims of a valid ID token."""
    metadata = client.load_server_metadata()

    def is_issuer(claims: Record, value: t.Any) -> bool:
        return bool(value == _issuer(metadata["issuer"], claims))

    options = {"iss": {"essential": True, "validate": is_issuer}}
    claims = dict(client.parse_id_token(token, nonce=nonce, claims_options=options))
    audience = claims["aud"]
    audiences = audience if isinstance(audience, list) else [audience]

    if client.client_id not in audiences or claims["nonce"] != nonce:
        raise ValueError("The ID token is for another application.")

    if not isinstance(claims["sub"], str) or not claims["sub"]:
        raise ValueError("The ID token has no subject.")

    return claims


def _issuer(issuer: str, claims: Record) -> str | None:
    if TENANT_PLACEHOLDER not in issuer:
        return issuer

    tenant = claims.get("tid")

    if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
        return None

    return issuer.replace(TENANT_PLACEHOLDER, tenant)


def _email(client: ProviderClient, url: str, token: Record) -> str | None:
    """Return the verified primary email of a user."""
    response = client.get(url, token=token, headers={"Accept": "application/json"})

    # The user may have allowed the profile alone.
    emails = response.json() if response.ok else []
    primary = [email for email in emails if email["primary"] and email["verified"]]
    return primary[0]["email"] if primary else None


def _profile(
    client: ProviderClient, provider: Provider, url: str, token: Record
) -> Record:
    extra = {k: v.format(key=provider.key) for k, v in provider.profile_headers.items()}
    headers = {"Accept": "application/json", **extra}
    response = client.get(url, token=token, headers=headers)
    response.raise_for_status()
    raw = response.json()

    if not isinstance(raw, dict):
        raise ValueError("The profile is not an object.")

    return raw
