"""What an OAuth provider is asked, and what is believed of its answers."""

from __future__ import annotations

import re
import threading
import time
import typing as t

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
"""How many seconds a provider has to say something."""

DEADLINE: t.Final = 8
"""How many seconds it has to say all that it is asked."""

TENANT = re.compile(r"[0-9a-f-]{36}")

TENANT_PLACE: t.Final = "{tenantid}"
"""What stands for a directory in the issuer of Microsoft."""

ISSUER_IN_ANSWERS: t.Final = "authorization_response_iss_parameter_supported"
"""The part of a configuration that says that each answer names the issuer."""

EXPIRY: t.Final = frozenset({"expires_in", "expires_at"})
"""The parts of a token that tell how long it lives."""

ENDPOINTS: t.Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")

SIGNED: t.Final = re.compile(r"(RS|PS|ES)(256|384|512)|EdDSA|Ed25519|ES256K")
"""The algorithms of an ID token that only the provider can have signed."""


class ProviderClient(FlaskOAuth2App):  # type: ignore[misc]  # it has no hints
    """A client of a provider that takes from its configuration what is understood."""

    @property
    def is_ready(self) -> bool:
        """``True`` once the addresses of the provider are known."""
        return not self._server_metadata_url or "_loaded_at" in self.server_metadata

    def load_server_metadata(self) -> Record:
        """Return the addresses of the provider, asked for once.

        :raises ValueError: They make no sense.
        """
        if self._server_metadata_url and "_loaded_at" not in self.server_metadata:
            with self._get_session() as session:
                answer = session.request(
                    "GET", self._server_metadata_url, withhold_token=True
                )
                answer.raise_for_status()

            self.server_metadata.update(_metadata(answer.json()))

        return t.cast("Record", self.server_metadata)


class Registry(OAuth):  # type: ignore[misc]  # it has no hints
    """The clients of an application."""

    oauth2_client_cls = ProviderClient


class Conversations:
    """Asks a provider in threads of their own, so that a slow one holds neither a login
    for long nor all threads of the server.

    :param most: How many run at once.
    """

    def __init__(self, most: int) -> None:
        self._free = threading.BoundedSemaphore(most)

    def ask(self, function: Callable[..., t.Any], *args: t.Any) -> t.Any:
        """Return the result of a function, unless that takes too long. A slow one goes
        on in its thread, and counts until it ends.

        :param function: The function, which asks the provider.
        :raises TooBusy: Too many are running.
        :raises TimeoutError: It took too long.
        """
        if not self._free.acquire(blocking=False):
            raise TooBusy

        outcome: Record = {}

        def run() -> None:
            try:
                outcome["result"] = function(*args)
            except Exception as error:
                outcome["error"] = error
            finally:
                self._free.release()

        thread = threading.Thread(target=run, daemon=True)

        try:
            thread.start()
        except RuntimeError:
            self._free.release()
            raise

        thread.join(DEADLINE)

        if "error" in outcome:
            raise outcome["error"]

        if "result" not in outcome:
            raise TimeoutError

        return outcome["result"]


class TooBusy(Exception):
    """As many conversations with a provider are running as there may be."""


def client_options(provider: Provider) -> Record:
    """Return what the client of a provider is made of.

    :param provider: The provider.
    """
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
    client: ProviderClient, provider: Provider, kept: Record, answer: Mapping[str, str]
) -> Record:
    """Return what a provider tells of who has logged in.

    :param client: The client of the provider.
    :param provider: The provider.
    :param kept: What was kept of the start of the login.
    :param answer: The parameters that came back, with the code.
    :raises Exception: The provider is away, or makes no sense, in the many ways that
        the libraries have to say so.
    """
    _check_issuer(client.load_server_metadata(), answer.get("iss"))
    token = client.fetch_access_token(
        code=answer["code"],
        redirect_uri=kept["redirect_uri"],
        code_verifier=kept["code_verifier"],
    )
    claims: Record = {}

    if provider.discovery_url:
        claims = _claims(client, token, kept["nonce"])

    # The provider says whether a token has expired. Authlib would refuse one that lives
    # for less than a minute.
    token = without(token, EXPIRY)
    url = provider.profile_url or client.load_server_metadata().get("userinfo_endpoint")
    raw = _profile(client, provider, url, token) if url else {}

    if provider.emails_url and not raw.get("email"):
        raw["email"] = _email(client, provider.emails_url, token)

    if claims and raw.get("sub", claims["sub"]) != claims["sub"]:
        raise ValueError("The profile is of somebody else.")

    return {**raw, **claims}


def _metadata(said: t.Any) -> Record:
    known = {name: _url(said[name]) for name in ENDPOINTS}

    if not isinstance(said["issuer"], str) or not said["issuer"]:
        raise ValueError("The issuer is not text.")

    listed = said.get("id_token_signing_alg_values_supported") or ["RS256"]
    return {
        **known,
        "issuer": said["issuer"],
        "userinfo_endpoint": _url(said["userinfo_endpoint"])
        if said.get("userinfo_endpoint")
        else None,
        "id_token_signing_alg_values_supported": [
            name for name in listed if SIGNED.fullmatch(name)
        ],
        ISSUER_IN_ANSWERS: said.get(ISSUER_IN_ANSWERS) is True,
        "_loaded_at": time.time(),
    }


def _url(value: t.Any) -> str:
    if not isinstance(value, str) or origin_of(value) is None:
        raise ValueError("An endpoint is not an address.")

    value.encode()
    return value


def _check_issuer(metadata: Record, said: str | None) -> None:
    """Refuse an answer that comes from another provider than the one that was asked,
    before it gets the code: see RFC 9207.
    """
    issuer = metadata.get("issuer")
    is_optional = not metadata.get(ISSUER_IN_ANSWERS)

    # A provider without a configuration has no issuer that is known.
    if issuer is None or (said is None and is_optional):
        return

    pattern = re.escape(issuer).replace(re.escape(TENANT_PLACE), TENANT.pattern)

    if not re.fullmatch(pattern, said or ""):
        raise ValueError("The answer is from another issuer.")


def _claims(client: ProviderClient, token: Record, nonce: str) -> Record:
    """Return what a valid ID token says."""
    metadata = client.load_server_metadata()

    def is_issuer(claims: Record, value: t.Any) -> bool:
        return bool(value == _issuer(metadata["issuer"], claims))

    options = {"iss": {"essential": True, "validate": is_issuer}}
    claims = dict(client.parse_id_token(token, nonce=nonce, claims_options=options))
    audience = claims["aud"]
    audiences = audience if isinstance(audience, list) else [audience]

    if client.client_id not in audiences or claims["nonce"] != nonce:
        raise ValueError("The ID token is for somebody else.")

    if not isinstance(claims["sub"], str) or not claims["sub"]:
        raise ValueError("The ID token is of nobody.")

    return claims


def _issuer(issuer: str, claims: Record) -> str | None:
    if TENANT_PLACE not in issuer:
        return issuer

    tenant = claims.get("tid")

    if not isinstance(tenant, str) or not TENANT.fullmatch(tenant):
        return None

    return issuer.replace(TENANT_PLACE, tenant)


def _email(client: ProviderClient, url: str, token: Record) -> str | None:
    """Return the email that a user has verified and uses first."""
    response = client.get(url, token=token, headers={"Accept": "application/json"})

    # The user may have allowed the profile alone.
    emails = response.json() if response.ok else []
    return next(
        (one["email"] for one in emails if one["primary"] and one["verified"]), None
    )


def _profile(
    client: ProviderClient, provider: Provider, url: str, token: Record
) -> Record:
    more = {
        name: text.format(key=provider.key)
        for name, text in provider.profile_headers.items()
    }
    headers = {"Accept": "application/json", **more}
    response = client.get(url, token=token, headers=headers)
    response.raise_for_status()
    raw = response.json()

    if not isinstance(raw, dict):
        raise ValueError("The profile is not an object.")

    return raw
