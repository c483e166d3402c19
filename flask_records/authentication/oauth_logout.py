"""Logouts at OAuth providers."""

from __future__ import annotations

import typing as t
from urllib.parse import urlencode
from urllib.parse import urljoin
from urllib.parse import urlsplit

from ..errors import NotFound

if t.TYPE_CHECKING:
    from .provider_metadata import ProviderMetadata
    from .providers import Provider


def logout_address(
    provider: Provider, metadata: ProviderMetadata, url: str, target: str | None
) -> str:
    """Return the address that ends the session of a user at a provider: see OpenID
    Connect RP-Initiated Logout. ID tokens are not stored, so that the provider may ask
    the user first.

    :param url: The address of the view.
    :param target: The address that the user returns to, if there is one.
    :raises NotFound: The provider has no such address.
    """
    if metadata.logout_url is None:
        raise NotFound(f"{provider.title} has no address to log out at.")

    query = {"client_id": provider.key}

    if target is not None:
        query["post_logout_redirect_uri"] = urljoin(url, target)

    separator = "&" if urlsplit(metadata.logout_url).query else "?"
    return f"{metadata.logout_url}{separator}{urlencode(query)}"
