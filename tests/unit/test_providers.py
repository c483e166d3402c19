"""Profiles of providers, and what is left out of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flask_records.authentication.providers import (
    KNOWN,
    Profile,
    profile_of_claims,
    Provider,
)
from tests.oauth_profiles import (
    DISCORD,
    FACEBOOK,
    GITHUB,
    GOOGLE,
    PROFILES,
    SLACK,
    SPOTIFY,
    TWITCH,
    X,
)

IDS = {"x": ["data"], "twitch": ["data", 0]}
"""Where the id is, if not on top."""


def read(provider, raw):
    return KNOWN[provider].read_profile(raw)


def changed(raw, *path, **values):
    """Return a profile with other values, on top or in a part of it."""
    if not path:
        return {**raw, **values}

    copy = list(raw) if isinstance(raw, list) else dict(raw)
    copy[path[0]] = changed(raw[path[0]], *path[1:], **values)
    return copy


def without(raw, *names):
    return {name: value for name, value in raw.items() if name not in names}


@pytest.mark.parametrize("provider", KNOWN)
def test_profile_of_a_provider_is_understood(provider):
    raw, profile = PROFILES[provider]

    assert read(provider, raw) == profile


def test_users_of_two_workspaces_of_slack_are_two():
    """Slack's identifiers of users are unique in a workspace only."""
    other = {**SLACK, "https://slack.com/team_id": "T0OTHER"}

    assert read("slack", SLACK).id != read("slack", other).id


@pytest.mark.parametrize("provider", KNOWN)
def test_profile_may_have_an_id_only(provider):
    raw, profile = PROFILES[provider]
    id = "U0R7JM" if provider == "slack" else profile.id
    alone = {"sub" if "sub" in raw else "id": id}

    for key in reversed(IDS.get(provider, [])):
        alone = [alone] if key == 0 else {key: alone}

    assert read(provider, alone) == Profile(id)


@pytest.mark.parametrize(
    ("provider", "raw"),
    [
        *(("google", {**GOOGLE, "sub": id}) for id in (None, "", True, 1.5, ["7"])),
        ("github", {"message": "Bad credentials", "status": "401"}),
        ("facebook", {"error": {"message": "Expired", "code": 190}}),
        ("slack", {"ok": False, "error": "invalid_auth"}),
        *(("twitch", {"data": data}) for data in ([], [None], ["1"], {"id": "1"})),
        ("twitch", {"id": "141981764"}),
        *(("x", {"data": data}) for data in ([], "2244994945")),
    ],
)
def test_profile_without_an_id_is_nobody(provider, raw):
    with pytest.raises(ValueError, match="no id"):
        read(provider, raw)


@pytest.mark.parametrize(
    "id",
    [
        *("", " ", "\n", "\u3164", "\u2800", "\x00", "alice ", "alice\u00a0"),
        *("al\u200bice", "\u202ealice", "al\u00adice", "\ud800"),
    ],
    ids=ascii,
)
def test_id_that_is_not_all_visible_is_refused(id):
    """It could be taken for another one, by people or by a database."""
    with pytest.raises(ValueError, match="id"):
        Profile(id)


@pytest.mark.parametrize(
    "id", ["a b", "Ada Lovelace", "é😀", "日本", "e\u0301", "x" * 500]
)
def test_id_that_people_can_read_is_taken(id):
    assert Profile(id).id == id


@pytest.mark.parametrize(
    ("provider", "changes", "email"),
    [
        *(
            ("facebook", {"email": email}, None)
            for email in (5, ["a@x.yz"], "ada@x.yz ", "a da@x.yz", "ada@x.yz\u200b")
        ),
        ("facebook", {"email": "ada\uff20x.yz@x.yz"}, None),
        ("facebook", {"email": "é@x.yz"}, "é@x.yz"),
        *(
            ("google", {"email_verified": said}, None)
            for said in (False, "false", None, "True", {})
        ),
        ("google", {"email_verified": "true"}, GOOGLE["email"]),
        *(("discord", {"verified": said}, None) for said in (False, None, "true", 1)),
        *(
            (provider, {"email": "a@x.yz", "email_verified": True}, None)
            for provider in ("microsoft", "spotify", "x")
        ),
    ],
)
def test_email_is_left_out_unless_it_is_plain_and_verified(provider, changes, email):
    raw = changed(PROFILES[provider][0], *IDS.get(provider, []), **changes)

    assert read(provider, raw).email == email


@pytest.mark.parametrize("provider", ["google", "gitlab", "apple", "linkedin"])
def test_email_that_an_openid_provider_does_not_call_verified_is_left_out(provider):
    raw, _ = PROFILES[provider]

    assert read(provider, without(raw, "email_verified")).email is None


@pytest.mark.parametrize(
    ("provider", "raw", "name"),
    [
        ("github", {**GITHUB, "name": None}, "octocat"),
        ("github", {**GITHUB, "name": "", "login": ["x"]}, None),
        ("discord", {**DISCORD, "global_name": None}, "nelly"),
        ("twitch", changed(TWITCH, "data", 0, display_name=""), "twitchdev"),
        ("x", changed(X, "data", name=None), "TwitterDev"),
        ("spotify", {**SPOTIFY, "display_name": None}, None),
        ("facebook", {**FACEBOOK, "name": "a\nb"}, None),
        ("google", {**GOOGLE, "name": "\u0645\u06cc\u200c"}, "\u0645\u06cc\u200c"),
    ],
)
def test_name_is_the_first_that_there_is(provider, raw, name):
    assert read(provider, raw).name == name


@pytest.mark.parametrize(
    ("provider", "raw"),
    [
        *(("facebook", {**FACEBOOK, "picture": x}) for x in [None, {"data": 5}]),
        ("facebook", changed(FACEBOOK, "picture", "data", url=5)),
        *(("discord", {**DISCORD, "avatar": x}) for x in [None, ["x"]]),
        *(("spotify", {**SPOTIFY, "images": x}) for x in [[], {}, [None]]),
        *(
            ("github", {**GITHUB, "avatar_url": url})
            for url in (None, {"url": "x"}, "javascript:x", "/1.png", "https://a@b.cd")
        ),
        ("github", {**GITHUB, "avatar_url": 'https://img.example/"onload="x'}),
        ("twitch", changed(TWITCH, "data", 0, profile_image_url="")),
    ],
)
def test_image_that_is_not_there_or_no_web_address_is_left_out(provider, raw):
    assert read(provider, raw).avatar is None


@pytest.mark.parametrize(
    ("raw", "profile"),
    [
        ({"sub": "s", "id": "i"}, Profile("s")),
        ({"id": 5, "username": "ada"}, Profile("5", name="ada")),
        ({"id": "i", "display_name": "A", "login": "b"}, Profile("i", name="A")),
        ({"id": "i", "avatar": "https://a"}, Profile("i", avatar="https://a")),
        ({"id": "i", "email": "a@b.c", "email_verified": False}, Profile("i")),
        ({"id": "i", "email": "a@b.c"}, Profile("i", "a@b.c")),
        ({"sub": "s", "email": "a@b.c"}, Profile("s")),
    ],
)
def test_profile_of_any_other_provider_is_read_as_most_write_it(raw, profile):
    assert profile_of_claims(raw) == profile
    assert Provider("company").read_profile(raw) == profile


NAMES = [
    *("id", "sub", "data", "email", "email_verified", "verified", "picture", "url"),
    *("images", "avatar", "name", "login", "display_name", "global_name"),
]

VALUES = st.recursive(
    st.sampled_from([None, True, 0, 7, 1.5, "", "x", "7", [], {}]),
    lambda values: (
        st.lists(values, max_size=2)
        | st.dictionaries(st.sampled_from(NAMES), values, max_size=4)
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("provider", ["discord", "facebook", "google", "twitch"])
@settings(deadline=None)
@given(raw=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6))
def test_nonsense_is_a_profile_of_text_or_nobody(provider, raw):
    try:
        profile = read(provider, raw)
    except ValueError:
        return

    assert isinstance(profile.id, str) and profile.id
    assert all(
        value is None or (isinstance(value, str) and value)
        for value in (profile.email, profile.name, profile.avatar)
    )
