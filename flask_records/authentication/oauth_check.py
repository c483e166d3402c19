"""Checks of OAuth providers, for the operators of an application."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import requests

from .oauth_client import ProviderClient
from .oauth_client import TIMEOUT
from .oauth_errors import describe
from .oauth_errors import PROVIDER_ERRORS

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
        addresses = ProviderClient(provider).addresses()
    except PROVIDER_ERRORS as error:
        url = t.cast("str", provider.discovery_url)
        yield Check("discovery_url", url, describe(error))
        return

    for name, url in addresses.items():
        yield Check(name, url, _problem_of(url))


def _problem_of(url: str) -> str | None:
    try:
        # Users are redirected to pages elsewhere.
        response = requests.get(url, timeout=TIMEOUT, allow_redirects=False)

        if response.status_code >= 500:
            response.raise_for_status()
    except PROVIDER_ERRORS as error:
        return describe(error)

    return None
