"""OAuth providers and their profiles."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .users import ADDRESS_PART

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Record

ID = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?")
"""Visible characters of ASCII, which no database changes, and no font hides."""

EMAIL = re.compile(rf"(?=[!-~]+\Z){ADDRESS_PART}{{1,64}}@{ADDRESS_PART}{{1,189}}")
"""An email in ASCII: others may look like another user's."""

NAME = re.compile(r"(?!\s*\Z)[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,255}")
"""Text of one line."""

IMAGE = re.compile(r"https?://[!#-&(-;=?-\[\]-_a-~]{1,2000}")
"""A URL that ends no attribute of HTML."""


@dataclass(frozen=True)
class Profile:
    """A user, as a provider describes them. Optional fields that are not valid are left
    out: they keep nobody out.

    :raises ValueError: The id could change in a database, or look like another one.
    """

    id: str
    """The identifier of the user at the provider, which never changes."""

    email: str | None = None
    """The email, unless the provider states that it is not verified."""

    name: str | None = None
    """The name to show."""

    avatar: str | None = None
    """The URL of an image."""

    email_verified: bool = field(default=False, compare=False)
    """``True`` if the provider states that it has verified the email."""

    def __post_init__(self) -> None:
        if not ID.fullmatch(self.id):
            raise ValueError("The profile has no id that can be stored.")

        for name, pattern in (("email", EMAIL), ("name", NAME), ("avatar", IMAGE)):
            value = getattr(self, name)
            is_valid = isinstance(value, str) and pattern.fullmatch(value)
            object.__setattr__(self, name, value if is_valid else None)


def profile_of_claims(raw: Record) -> Profile:
    """Return the profile in the claims of OpenID Connect, or in the fields that most
    others send.

    :raises ValueError: It has no usable identifier.
    """
    # Claims of OpenID, which have a `sub`, state it. Of others few have a field for it.
    other = "sub" not in raw and raw.get("verified_email", raw.get("verified", True))
    is_kept = raw.get("email_verified", other) in (True, "true")
    return Profile(
        id=_id(raw.get("sub", raw.get("id"))),
        email=raw.get("email") if is_kept else None,
        email_verified=is_kept and "email_verified" in raw,
        name=_first(raw, "name", "global_name", "display_name", "login", "username"),
        avatar=_first(raw, "picture", "avatar_url", "avatar"),
    )


def _profile_of_microsoft(raw: Record) -> Profile:
    # The owner of a directory there can put any email into it.
    return replace(profile_of_claims(raw), email=None, avatar=None)


@dataclass(frozen=True)
class Provider:
    """An OAuth provider: its addresses, and how to talk to it."""

    name: str
    """The name in URLs and settings."""

    key: str = ""
    """The client id of the application at the provider."""

    secret: str = field(default="", repr=False)
    """The client secret."""

    scope: str = ""
    """The scope that the application asks for, separated by spaces."""

    discovery_url: str | None = None
    """The address of the OpenID Connect configuration, which has the others."""

    authorize_url: str | None = None
    """The address that users are sent to."""

    access_url: str | None = None
    """The address that exchanges the code for a token of the provider."""

    profile_url: str | None = None
    """The address of the profile of a user."""

    emails_url: str | None = None
    """The address of the emails of a user whose profile has none."""

    params: Mapping[str, str] = field(default_factory=dict)
    """More parameters for the address that users are sent to."""

    token_endpoint_auth_method: str = "client_secret_basic"
    """How to send the secret: ``client_secret_basic`` or ``client_secret_post``."""

    pkce: bool = True
    """``False`` for a provider that refuses the ``code_verifier`` of PKCE."""

    read_profile: Callable[[Record], Profile] = profile_of_claims
    """Reads the profile that the provider sends."""

    @property
    def title(self) -> str:
        """The name, for people."""
        return TITLES.get(self.name, self.name.title())

    @property
    def id_field(self) -> str:
        """The field with the identifier: see section 2.1 of the specification."""
        return f"{self.name}Id"


TITLES: t.Final = {"github": "GitHub", "gitlab": "GitLab", "linkedin": "LinkedIn"}
"""The titles that are not the name with a capital."""

OPENID: t.Final = "openid email profile"

POST: t.Final = "client_secret_post"

PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            "google",
            scope=OPENID,
            discovery_url="https://accounts.google.com/.well-known/openid-configuration",
        ),
        Provider(
            "github",
            scope="read:user user:email",
            authorize_url="https://github.com/login/oauth/authorize",
            access_url="https://github.com/login/oauth/access_token",
            profile_url="https://api.github.com/user",
            emails_url="https://api.github.com/user/emails",
            token_endpoint_auth_method=POST,
        ),
        Provider(
            "gitlab",
            scope=OPENID,
            discovery_url="https://gitlab.com/.well-known/openid-configuration",
        ),
        Provider(
            "microsoft",
            scope=OPENID,
            discovery_url="https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration",
            token_endpoint_auth_method=POST,
            read_profile=_profile_of_microsoft,
        ),
        Provider(
            "apple",
            scope="openid email",
            discovery_url="https://appleid.apple.com/.well-known/openid-configuration",
            params={"response_mode": "form_post"},
            token_endpoint_auth_method=POST,
        ),
        Provider(
            "facebook",
            scope="public_profile email",
            authorize_url="https://www.facebook.com/dialog/oauth",
            access_url="https://graph.facebook.com/oauth/access_token",
            # Emails there are valid ones, without a word on verification.
            profile_url="https://graph.facebook.com/me?fields=id,name,email",
            token_endpoint_auth_method=POST,
        ),
        Provider(
            "discord",
            scope="identify email",
            authorize_url="https://discord.com/oauth2/authorize",
            access_url="https://discord.com/api/oauth2/token",
            profile_url="https://discord.com/api/users/@me",
        ),
        Provider(
            "linkedin",
            scope=OPENID,
            # The ID tokens have no nonce, so that the profile is asked for instead.
            authorize_url="https://www.linkedin.com/oauth/v2/authorization",
            access_url="https://www.linkedin.com/oauth/v2/accessToken",
            profile_url="https://api.linkedin.com/v2/userinfo",
            token_endpoint_auth_method=POST,
            # A token request with a code_verifier is answered by 'invalid_client'.
            pkce=False,
        ),
    )
}
"""The providers that are known by name."""


def _id(value: t.Any) -> str:
    is_id = isinstance(value, (str, int)) and not isinstance(value, bool)
    return str(value) if is_id else ""


def _first(raw: Record, *names: str) -> t.Any:
    return next(filter(None, map(raw.get, names)), None)
