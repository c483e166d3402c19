"""Clients of OAuth providers, on Authlib's client for Flask."""

from __future__ import annotations

import json
import re
import typing as t
from contextlib import contextmanager

from authlib.integrations.base_client import OAuthError
from authlib.integrations.flask_client import FlaskIntegration, FlaskOAuth2App
from authlib.integrations.requests_client import OAuth2Session
from flask import current_app, session
from joserfc.errors import BadSignatureError, ClaimError
from requests import ConnectionError, HTTPError, Timeout

from ..errors import BadRequest, NotAuthenticated
from ..http.origins import is_secure
from ..service.results import without

if t.TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from requests import Response

    from ..typing import Record
    from .providers import Provider

SESSION: t.Final = "records_"
"""The beginning of the names that Authlib keeps logins by in Flask's session."""

MAX_LOGINS: t.Final = 3
"""The number of logins that one browser can have in progress."""

MAX_SIZE: t.Final = 1000
"""The number of characters of a login. Browsers drop cookies of more than 4 kB."""

LIFETIME: t.Final = 10 * 60

TIMEOUT: t.Final = 5

ALGORITHMS: t.Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "ES256K", "EdDSA", "Ed25519"),
)
"""The algorithms that sign ID tokens with a key of the provider alone. Secrets sign
nothing here: a published key proves nothing.
"""

KEY_TYPES: t.Final = ("RSA", "EC", "OKP")
"""The types of keys for these algorithms."""

PROFILE: t.Final = "userinfo_endpoint"

ENDPOINTS: t.Final = ("authorization_endpoint", "token_endpoint", "jwks_uri", PROFILE)
"""The addresses in the configuration of a provider, which need not have the last."""

TENANT: t.Final = "{tenantid}"
"""The placeholder of a directory in the issuer of Microsoft."""

CODE = re.compile(r"[A-Za-z_.-]{1,60}")
"""An error code of OAuth."""

CANCELLED: t.Final = "The login was cancelled."

REFUSAL: t.Final = (
    "{} refused the login. Try again, and tell the owner of this site if it happens"
    " again."
)

SILENT: t.Final = "{} is not responding. Try again later."

INVALID: t.Final = "{} sent an invalid response. Try again later."

CANCELLATIONS: t.Final = (
    "access_denied",
    # LinkedIn and Apple have names of their own.
    "user_cancelled_login",
    "user_cancelled_authorize",
)
"""The codes of logins that users have cancelled."""


class InvalidResponse(ValueError):
    """A response of a provider is not valid. The message, which has no secrets, is for
    the log.
    """


class ProviderSession(OAuth2Session):  # type: ignore[misc]  # it has no hints
    """Sends requests, and follows no redirect: it would take a token, a code or the
    secret elsewhere.
    """

    def __init__(self, *args: t.Any, **kwargs: t.Any) -> None:
        super().__init__(*args, **kwargs)
        self.max_redirects = 0


class ProviderClient(FlaskOAuth2App):  # type: ignore[misc]  # it has no hints
    """A client of a provider. Its methods raise errors of Authlib and requests, too."""

    client_cls = ProviderSession

    def __init__(self, provider: Provider) -> None:
        super().__init__(
            FlaskIntegration(f"{SESSION}{provider.name}"),
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
                "code_challenge_method": "S256" if provider.pkce else None,
                "default_timeout": TIMEOUT,
            },
        )
        self.framework.expires_in = LIFETIME
        self.provider = provider
        """The provider."""

    def keep(self, login: Record) -> None:
        """Keep a login until the provider answers, in the session of the browser."""
        if len(json.dumps(login)) > MAX_SIZE:
            raise BadRequest("The query of the login is too long.")

        self.save_authorize_data(**login)
        # The keys are Authlib's, which the application may use, too.
        keys = [key for key in session if key.startswith(f"_state_{SESSION}")]

        # Many logins are abandoned.
        for key in sorted(keys, key=lambda key: session[key]["exp"])[:-MAX_LOGINS]:
            del session[key]

    def take(self, state: str) -> Record:
        """Return a login that this browser began recently, or an empty one. Its state
        is valid once.
        """
        # This removes those that are older.
        self.framework.clear_state_data(session, "")
        login: Record = self.framework.get_state_data(session, state) or {}
        self.framework.clear_state_data(session, state)
        return login

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Log an error of the provider, make one for people of it, and request the
        configuration again with the next login: it may have other addresses by now.
        """
        try:
            yield
        except Exception as error:
            # The response may be anything, at which libraries fail in many ways.
            self.server_metadata: Record = {}
            message, line = _explain(error)
            logger = current_app.logger
            log = logger.info if message == CANCELLED else logger.warning
            log("The login at %s failed: %s", self.name, line)
            raise NotAuthenticated(message.format(self.provider.title)) from error

    def load_server_metadata(self) -> Record:
        """Return the configuration, which the first login requests. It has known parts
        only: Authlib takes any others for options of its client.
        """
        if self._server_metadata_url and not self.server_metadata:
            with self._get_session() as requests:
                response = requests.get(self._server_metadata_url, withhold_token=True)
                response.raise_for_status()
                self.server_metadata = _read_parts(_object(response))

        return self.server_metadata

    def fetch_jwk_set(self, force: bool = False) -> Record:
        """Return the keys of types that are known: others must not spoil them."""
        keys = super().fetch_jwk_set(force)["keys"]
        return {"keys": [key for key in keys if key.get("kty") in KEY_TYPES]}

    def raw_profile(self, login: Record, answer: Mapping[str, str]) -> Record:
        """Return the profile of a login that a provider has answered."""
        if "error" in answer:
            raise OAuthError(answer["error"])

        if "code" not in answer:
            raise InvalidResponse("There is no code.")

        names = ("redirect_uri", "code_verifier")
        values = {name: login[name] for name in names if name in login}
        token: Record = self.fetch_access_token(code=answer["code"], **values)
        claims = self._claims(token, login.get("nonce"))
        # Authlib would refuse a token with a lifetime of less than a minute.
        token = without(token, {"expires_in", "expires_at"})
        raw = self._profile(token)

        if claims and raw.get("sub", claims["sub"]) != claims["sub"]:
            raise InvalidResponse("The profile is of another user.")

        profile = {**raw, **self._email(token, raw.get("email"))}

        # The provider has verified the address that it states so.
        if claims.get("email", profile.get("email")) != profile.get("email"):
            profile = without(profile, {"email_verified"})

        return {**profile, **claims}

    def _claims(self, token: Record, nonce: str | None) -> Record:
        """Return the claims of a valid ID token, of a provider that has some."""
        if self.provider.discovery_url is None:
            return {}

        if "id_token" not in token:
            raise InvalidResponse("There is no ID token.")

        issuer = self.load_server_metadata()["issuer"]

        def is_issuer(claims: Record, value: t.Any) -> bool:
            return bool(value == issuer.replace(TENANT, str(claims.get("tid"))))

        options = {
            "iss": {"essential": True, "validate": is_issuer},
            "aud": {"essential": True, "value": self.client_id},
            "nonce": {"essential": True},
            "sub": {"essential": True},
        }

        try:
            return dict(self.parse_id_token(token, nonce, options))
        except BadSignatureError:
            # There may be another key by the same name.
            self.fetch_jwk_set(force=True)
            return dict(self.parse_id_token(token, nonce, options))

    def _profile(self, token: Record) -> Record:
        metadata = self.load_server_metadata()
        url = self.provider.profile_url or metadata.get(PROFILE)

        if url is None:
            return {}

        response = self._get(url, token)
        response.raise_for_status()
        media_type = response.headers.get("Content-Type", "")
        # The ID token has claims, too.
        is_token = media_type.startswith("application/jwt")
        return {} if is_token else _object(response)

    def _email(self, token: Record, public: t.Any) -> Record:
        """Return the verified email of a user: the public one, else the primary one."""
        if self.provider.emails_url is None:
            return {}

        response = self._get(self.provider.emails_url, token)

        # A user without an email for now would never get one.
        if response.status_code >= 500:
            response.raise_for_status()

        # The user may have allowed the profile alone.
        emails = response.json() if response.ok else []
        verified = [each for each in emails if each["verified"] is True]
        own = [each["email"] for each in verified if each["email"] == public]
        own += [each["email"] for each in verified if each["primary"] is True]
        return {"email": own[0], "email_verified": True} if own else {}

    def _get(self, url: str, token: Record) -> Response:
        headers = {"Accept": "application/json"}
        return t.cast("Response", self.get(url, token=token, headers=headers))


def _read_parts(configuration: Record) -> Record:
    urls = {name: configuration.get(name) for name in ENDPOINTS}

    for name, url in urls.items():
        if not is_secure(url) and (url is not None or name != PROFILE):
            raise InvalidResponse(f"Its {name!r} is not an address of https.")

    # A placeholder in the issuer would stand for anything if it were not text.
    if not isinstance(issuer := configuration.get("issuer"), str) or not issuer:
        raise InvalidResponse("The issuer is not text.")

    algorithms = {"id_token_signing_alg_values_supported": ALGORITHMS}
    return {**urls, "issuer": issuer, **algorithms}


def _object(response: Response) -> Record:
    content = response.json()

    if not isinstance(content, dict):
        raise InvalidResponse("The response is not an object.")

    return content


def _explain(error: Exception) -> tuple[str, str]:
    """Return the message for people, and one line for the log."""
    # No text of the provider: it may quote what it was sent.
    name = type(error).__name__

    match error:
        case InvalidResponse():
            return INVALID, f"{name}: {error}"
        case OAuthError(error=str(code)) if CODE.fullmatch(code):
            message = CANCELLED if code in CANCELLATIONS else REFUSAL
            return message, f"{name}: {code!r}"
        case HTTPError(response=response):
            message = SILENT if response.status_code >= 500 else INVALID
            return message, f"{name}: {response.status_code}"
        case ClaimError(claim=claim):
            return INVALID, f"{name}: {claim}"
        case ConnectionError() | Timeout():
            return SILENT, name
        case _:
            return INVALID, name
