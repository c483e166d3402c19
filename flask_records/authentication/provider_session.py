"""HTTP requests to a provider."""

from __future__ import annotations

import typing as t

from authlib.integrations.requests_client import OAuth2Session

from ..http.origins import origin_of

if t.TYPE_CHECKING:
    from collections.abc import Iterable

    from requests import PreparedRequest
    from requests import Response

    from .providers import Provider

TIMEOUT: t.Final = 5
"""The number of seconds that a provider may be silent."""


class InvalidResponse(ValueError):
    """A response of a provider is not valid. The message, which has no secrets, is for
    the log.
    """


class ProviderSession(OAuth2Session):  # type: ignore[misc]  # it has no hints
    """Sends requests to the origins of a provider, and to no others: a redirect
    elsewhere would take a token, a code or the secret there.

    :param provider: The provider.
    :param urls: Its addresses.
    """

    def __init__(self, provider: Provider, urls: Iterable[str]) -> None:
        super().__init__(
            provider.key,
            provider.secret,
            scope=provider.scope,
            token_endpoint_auth_method=provider.token_endpoint_auth_method,
            code_challenge_method="S256",
            default_timeout=TIMEOUT,
        )
        self._origins = {origin_of(url) for url in urls} - {None}

    def send(self, request: PreparedRequest, **options: t.Any) -> Response:
        """Send a request, or follow a redirect.

        :raises InvalidResponse: It leads elsewhere.
        """
        origin = origin_of(request.url or "")

        if origin not in self._origins:
            raise InvalidResponse(f"It redirects to {origin}, which is not its own.")

        return t.cast("Response", super().send(request, **options))
