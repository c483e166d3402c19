"""Clients of OAuth providers."""

from __future__ import annotations

import secrets
import typing as t
from contextlib import suppress
from functools import partial

from authlib.integrations.base_client import OAuthError
from joserfc.errors import JoseError
from requests import ConnectionError
from requests import HTTPError

from ..pagination import without
from .id_tokens import check_issuer
from .id_tokens import IDTokens
from .oauth_errors import PROVIDER_ERRORS
from .oauth_errors import ProviderError
from .oauth_errors import raise_error_in
from .provider_metadata import read_metadata
from .provider_session import InvalidResponse
from .provider_session import ProviderSession

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    from requests import Response

    from ..typing import Record
    from .provider_metadata import ProviderMetadata
    from .providers import Provider

    Step = Callable[[ProviderMetadata], t.Any]

STALE_ERRORS: t.Final = (ConnectionError, HTTPError, JoseError, LookupError, ValueError)
"""The errors of a step that newer metadata may mend."""

ACCEPT: t.Final = {"Accept": "application/json"}


class ProviderClient:
    """A client of a provider. A step of a login that fails is repeated if the provider
    has other addresses, or other keys, by now.

    :param provider: The provider.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._metadata: ProviderMetadata | None = None

    def metadata(self) -> ProviderMetadata:
        """Return the addresses and keys of the provider, which the first call requests.

        :raises Exception: The provider does not respond, or its response is invalid.
        """
        if self._metadata is None:
            self._metadata = read_metadata(self._provider)

        return self._metadata

    def start(self, redirect_uri: str) -> Record:
        """Return a new login: ``url``, the address that the user is sent to, and
        ``state``, ``nonce`` and ``code_verifier``, which the callback needs.

        :raises Exception: The metadata of the provider is not known, and can't be read.
        """
        provider = self._provider
        metadata = self.metadata()
        verifier = secrets.token_urlsafe(36)
        is_openid = "openid" in provider.scope.split()
        nonce = secrets.token_urlsafe(20) if is_openid else None
        params = {"redirect_uri": redirect_uri, "nonce": nonce, **provider.params}

        with self._session(metadata) as session:
            url, state = session.create_authorization_url(
                metadata.authorize_url, code_verifier=verifier, **params
            )

        return {"url": url, "state": state, "nonce": nonce, "code_verifier": verifier}

    def raw_profile(self, started: Record, answer: Mapping[str, str]) -> Record:
        """Return the profile of a login as the provider sends it.

        :param started: The login, as it began.
        :param answer: The answer of the provider, with the code.
        :raises Exception: The provider does not respond, or its response is invalid.
        """
        self._attempt(partial(check_issuer, answered=answer.get("iss")))
        token = self._attempt(partial(self._token, started, answer["code"]))
        claims = self._claims(token, started["nonce"])
        # The provider decides whether a token has expired. Authlib would refuse one
        # with a lifetime of less than a minute.
        token = without(token, {"expires_in", "expires_at"})
        raw = self._attempt(partial(self._profile, token))

        if not raw.get("email"):
            raw = {**raw, **self._attempt(partial(self._email, token))}

        if claims and raw.get("sub", claims["sub"]) != claims["sub"]:
            raise InvalidResponse("The profile is of another user.")

        return {**raw, **claims}

    def _attempt(self, step: Step) -> t.Any:
        metadata = self.metadata()

        try:
            return step(metadata)
        except STALE_ERRORS:
            newer = self._newer(metadata)

            if newer == metadata:
                raise

            return step(newer)

    def _newer(self, metadata: ProviderMetadata) -> ProviderMetadata:
        """Return the metadata that the provider has now, or else the older."""
        # Another login may have read it meanwhile.
        if metadata is self._metadata:
            with suppress(*PROVIDER_ERRORS):
                self._metadata = read_metadata(self._provider)

        return self.metadata()

    def _token(self, started: Record, code: str, metadata: ProviderMetadata) -> Record:
        place = "token endpoint"

        with self._session(metadata) as session:
            try:
                token = session.fetch_token(
                    metadata.access_url,
                    code=code,
                    redirect_uri=started["redirect_uri"],
                    code_verifier=started["code_verifier"],
                )
            except OAuthError as error:
                raise ProviderError(error.error, place) from error
            except HTTPError as error:
                raise_error_in(error.response, place)
                raise

        access_token = token.get("access_token")

        if not isinstance(access_token, str) or not access_token:
            raise InvalidResponse("There is no access token.")

        return t.cast("Record", token)

    def _claims(self, token: Record, nonce: str) -> Record:
        """Return the claims of a valid ID token, of a provider that has some."""
        if self._provider.discovery_url is None:
            return {}

        def claims(metadata: ProviderMetadata) -> Record:
            return IDTokens(self._provider.key, metadata).claims(token, nonce)

        return t.cast("Record", self._attempt(claims))

    def _profile(self, token: Record, metadata: ProviderMetadata) -> Record:
        if metadata.profile_url is None:
            return {}

        key, extra = self._provider.key, self._provider.profile_headers
        headers = {name: value.format(key=key) for name, value in extra.items()}
        response = self._get(metadata, metadata.profile_url, token, headers)

        if not response.ok:
            raise_error_in(response, "profile")
            response.raise_for_status()

        raw = response.json()

        if not isinstance(raw, dict):
            raise InvalidResponse("The profile is not an object.")

        return raw

    def _email(self, token: Record, metadata: ProviderMetadata) -> Record:
        """Return the verified primary email of a user, in a field for it."""
        if metadata.emails_url is None:
            return {}

        response = self._get(metadata, metadata.emails_url, token)

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

    def _get(
        self,
        metadata: ProviderMetadata,
        url: str,
        token: Record,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        with self._session(metadata) as session:
            session.token = token
            response = session.get(url, headers={**ACCEPT, **(headers or {})})
            return t.cast("Response", response)

    def _session(self, metadata: ProviderMetadata) -> ProviderSession:
        return ProviderSession(self._provider, metadata.urls)
