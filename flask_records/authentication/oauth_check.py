"""Checks of OAuth providers, for the operators of an application."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .oauth_errors import describe
from .oauth_errors import PROVIDER_ERRORS
from .provider_metadata import read_metadata
from .provider_session import ProviderSession

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .providers import Provider


@dataclass(frozen=True)
class Check:
    """The check of one address of a provider."""

    name: str
    """The name of the setting for the address."""

    url: str
    """The address."""

    problem: str | None = None
    """The reason why it can't be used, without secrets, or ``None``."""


def check_provider(provider: Provider) -> Iterator[Check]:
    """Request the addresses of a provider, without key and secret, and yield the
    checks. Endpoints respond with an error to that: it counts that they respond.
    """
    try:
        metadata = read_metadata(provider)
    except PROVIDER_ERRORS as error:
        url = t.cast("str", provider.discovery_url)
        yield Check("discovery_url", url, describe(error))
        return

    with ProviderSession(provider, metadata.urls) as session:
        for name, url in metadata.named_urls:
            yield Check(name, url, _problem_of(session, url))


def _problem_of(session: ProviderSession, url: str) -> str | None:
    try:
        # Users are redirected to pages elsewhere.
        response = session.get(url, withhold_token=True, allow_redirects=False)

        if response.status_code >= 500:
            response.raise_for_status()
    except PROVIDER_ERRORS as error:
        return describe(error)

    return None
