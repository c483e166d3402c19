"""Sites whose users log in with OpenID Connect."""

from __future__ import annotations

import pytest

from tests.listening import running
from tests.oauth_providers import as_json
from tests.oauth_providers import OpenIDProvider
from tests.oauth_providers import present
from tests.oauth_providers import serving_logins

CLAIMS = {
    "name": "Ada Lovelace",
    "picture": "https://img.example/ada.png",
    "email": "ada@example.com",
    "email_verified": True,
}


@pytest.fixture
def provider():
    provider = OpenIDProvider()

    with running(provider) as provider.url:
        yield provider


@pytest.fixture
def site(provider):
    with serving_logins({"fake": provider}) as site:
        yield site


def giving(provider, change):
    """A token endpoint that gives something else for an ID token."""

    def token(request):
        said = provider.token(request).json
        return as_json(present({**said, "id_token": change(said["id_token"])}))

    return token
