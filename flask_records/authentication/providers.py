"""OAuth providers and their profiles."""

from __future__ import annotations

import re
import typing as t
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..http.origins import origin_of

if t.TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Record


BLANK = re.compile("[\u115f\u1160\u2800\u3164\uffa0]")
"""Letters and symbols that look like a space."""

EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,189}")

NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,255}")
"""Text of one line."""

IMAGE = re.compile(r"https?://[^\s\"'<>`\\]{1,2000}")
"""A URL that ends no attribute of HTML."""


def _email(value: t.Any) -> str | None:
    """Return an email, or ``None`` if it is not valid. With an invisible character, or
    a variant of a letter, it would look like that of another user.
    """
    if not isinstance(value, str) or not EMAIL.fullmatch(value):
        return None

    is_plain = unicodedata.normalize("NFKC", value) == value
    return value if is_plain and _is_visible(value) else None


def _name(value: t.Any) -> str | None:
    """Return a name, or ``None`` if it is not text of one line."""
    is_name = isinstance(value, str) and value.strip() and NAME.fullmatch(value)
    return value if is_name else None


def _image(value: t.Any) -> str | None:
    """Return the URL of an image, or ``None`` if it is not one that begins with
    ``https://`` or ``http://``. One without a scheme gets the former.
    """
    url = f"https:{value}" if str(value).startswith("//") else value
    is_url = isinstance(url, str) and url.isprintable() and IMAGE.fullmatch(url)
    return url if is_url and origin_of(url) else None


def _is_visible(text: str) -> bool:
    """Return whether a text is not blank, and has no invisible characters."""
    return bool(text.strip()) and text.isprintable() and not BLANK.search(text)


@dataclass(frozen=True)
class Profile:
    """A user, as a provider describes them. Optional fields that are not valid are left
    out: they keep nobody out.

    :raises ValueError: The id could change in a database, or look like another one.
    """

    id: str
    """The identifier of the user at the provider, which never changes."""

    email: str | None = None
    """The email, if the provider has verified it."""

    name: str | None = None
    """The name to show."""

    avatar: str | None = None
    """The URL of an image."""

    def __post_init__(self) -> None:
        # MariaDB compares text without regard to spaces at its end.
        if not _is_visible(self.id) or self.id != self.id.strip():
            raise ValueError("The id of the profile can't be stored.")

        for name, check in CHECKS.items():
            object.__setattr__(self, name, check(getattr(self, name)))


CHECKS: t.Final[Mapping[str, Callable[[t.Any], str | None]]] = {
    "email": _email,
    "name": _name,
    "avatar": _image,
}
"""The checks of optional fields."""


def profile_of_claims(raw: Record) -> Profile:
    """Return the profile in the claims of OpenID Connect, or in the fields that most
    others send.

    :raises ValueError: It has no usable identifier.
    """
    return Profile(
        id=_id(raw.get("sub", raw.get("id"))),
        email=raw.get("email") if _is_verified(raw) else None,
        name=_first_name(raw, "name", "display_name", "login", "username"),
        avatar=_first_image(raw, "picture", "avatar_url", "avatar"),
    )


def _profile_of_microsoft(raw: Record) -> Profile:
    # The owner of a directory there can put any email into it.
    return replace(profile_of_claims(raw), email=None, avatar=None)


def _profile_of_slack(raw: Record) -> Profile:
    # Its identifiers are unique in a workspace only.
    profile = profile_of_claims(raw)
    team = raw.get("https://slack.com/team_id")
    is_text = isinstance(team, str) and team
    return replace(profile, id=f"{team}/{profile.id}") if is_text else profile


def _profile_of_facebook(raw: Record) -> Profile:
    picture = _mapping(_mapping(raw.get("picture")).get("data"))
    # It sends valid emails only, without a word on verification.
    id, email = _id(raw.get("id")), raw.get("email")
    return Profile(id, email, raw.get("name"), picture.get("url"))


def _profile_of_discord(raw: Record) -> Profile:
    id, avatar = _id(raw.get("id")), raw.get("avatar")
    has_image = isinstance(avatar, str) and avatar != ""
    url = f"https://cdn.discordapp.com/avatars/{id}/{avatar}.png"
    email = raw.get("email") if raw.get("verified") is True else None
    name = _first_name(raw, "global_name", "username")
    return Profile(id, email, name, url if has_image else None)


def _profile_of_spotify(raw: Record) -> Profile:
    # Spotify does not verify emails.
    images = raw.get("images")
    first = _mapping(images[0]) if isinstance(images, list) and images else {}
    id, name = _id(raw.get("id")), raw.get("display_name")
    return Profile(id, name=name, avatar=first.get("url"))


def _profile_of_twitch(raw: Record) -> Profile:
    users = raw.get("data")
    user = _mapping(users[0]) if isinstance(users, list) and users else {}
    # Its only email is a verified one.
    id, email = _id(user.get("id")), user.get("email")
    image = user.get("profile_image_url")
    return Profile(id, email, _first_name(user, "display_name", "login"), image)


def _profile_of_x(raw: Record) -> Profile:
    user = _mapping(raw.get("data"))
    id, name = _id(user.get("id")), _first_name(user, "name", "username")
    return Profile(id, name=name, avatar=user.get("profile_image_url"))


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

    profile_headers: Mapping[str, str] = field(default_factory=dict)
    """More headers for the profile. ``{key}`` stands for the key."""

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

    @property
    def posts_back(self) -> bool:
        """``True`` if the provider lets the browser post its answer as a form."""
        return self.params.get("response_mode") == "form_post"


TITLES: t.Final = {"github": "GitHub", "gitlab": "GitLab", "linkedin": "LinkedIn"}
"""The titles that are not the name with a capital."""

OPENID: t.Final = "openid email profile"

POST: t.Final = "client_secret_post"

KNOWN: dict[str, Provider] = {
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
            # Only an email that was verified there can be the public one.
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
            profile_url="https://graph.facebook.com/me?fields=id,name,email,picture",
            token_endpoint_auth_method=POST,
            read_profile=_profile_of_facebook,
        ),
        Provider(
            "discord",
            scope="identify email",
            authorize_url="https://discord.com/oauth2/authorize",
            access_url="https://discord.com/api/oauth2/token",
            profile_url="https://discord.com/api/users/@me",
            read_profile=_profile_of_discord,
        ),
        Provider(
            "linkedin",
            scope=OPENID,
            # Its ID tokens have no nonce, so that the profile is asked for instead.
            authorize_url="https://www.linkedin.com/oauth/v2/authorization",
            access_url="https://www.linkedin.com/oauth/v2/accessToken",
            profile_url="https://api.linkedin.com/v2/userinfo",
            token_endpoint_auth_method=POST,
        ),
        Provider(
            "slack",
            scope=OPENID,
            discovery_url="https://slack.com/.well-known/openid-configuration",
            token_endpoint_auth_method=POST,
            read_profile=_profile_of_slack,
        ),
        Provider(
            "spotify",
            scope="user-read-private",
            authorize_url="https://accounts.spotify.com/authorize",
            access_url="https://accounts.spotify.com/api/token",
            profile_url="https://api.spotify.com/v1/me",
            read_profile=_profile_of_spotify,
        ),
        Provider(
            "twitch",
            scope="user:read:email",
            authorize_url="https://id.twitch.tv/oauth2/authorize",
            access_url="https://id.twitch.tv/oauth2/token",
            profile_url="https://api.twitch.tv/helix/users",
            token_endpoint_auth_method=POST,
            profile_headers={"Client-Id": "{key}"},
            read_profile=_profile_of_twitch,
        ),
        Provider(
            "x",
            scope="tweet.read users.read",
            authorize_url="https://x.com/i/oauth2/authorize",
            access_url="https://api.x.com/2/oauth2/token",
            profile_url="https://api.x.com/2/users/me?user.fields=profile_image_url",
            read_profile=_profile_of_x,
        ),
    )
}
"""The providers that are known by name."""


def _id(value: t.Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise ValueError("The profile has no id.")

    return str(value)


def _first_name(raw: Mapping[str, t.Any], *names: str) -> str | None:
    return next(filter(None, (_name(raw.get(name)) for name in names)), None)


def _first_image(raw: Mapping[str, t.Any], *names: str) -> str | None:
    return next(filter(None, (_image(raw.get(name)) for name in names)), None)


def _is_verified(raw: Record) -> bool:
    # Claims of OpenID, which have a `sub`, state it. Others have no field for it.
    return raw.get("email_verified", "sub" not in raw) in (True, "true")


def _mapping(value: t.Any) -> Mapping[str, t.Any]:
    return value if isinstance(value, Mapping) else {}
