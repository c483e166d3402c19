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


@pytest.mark.parametrize("provider", PROFILES)
def test_profile_of_a_provider_is_understood(provider):
    raw, profile = PROFILES[provider]

    assert read(provider, raw) == profile


def test_every_known_provider_has_an_example():
    assert {*PROFILES, "slack"} == set(KNOWN)


def test_profile_of_slack_is_understood():
    profile = read("slack", SLACK)

    assert (profile.email, profile.name) == ("krane@slack-corp.com", "krane")
    assert profile.avatar == "https://secure.gravatar.com/krane.png"


def test_users_of_two_workspaces_of_slack_are_two():
    """Slack's identifiers of users are unique in a workspace only."""
    other = {**SLACK, "https://slack.com/team_id": "T0OTHER"}

    assert read("slack", SLACK).id != read("slack", other).id


@pytest.mark.parametrize("provider", PROFILES)
def test_profile_may_have_an_id_only(provider):
    raw, profile = PROFILES[provider]
    alone = {"sub" if "sub" in raw else "id": profile.id}

    for key in reversed(IDS.get(provider, [])):
        alone = [alone] if key == 0 else {key: alone}

    assert read(provider, alone) == Profile(profile.id)


@pytest.mark.parametrize("id", [None, "", True, 1.5, ["7"], {"id": 7}])
@pytest.mark.parametrize("provider", ["google", "twitch"])
def test_profile_without_an_id_is_nobody(provider, id):
    raw = SLACK if provider == "slack" else PROFILES[provider][0]
    path = IDS.get(provider, [])
    name = "sub" if "sub" in raw else "id"

    with pytest.raises(ValueError, match="no id"):
        read(provider, changed(raw, *path, **{name: id}))


INVISIBLE = [" ", "\n", "\u00a0", "\u200b", "\u3164", "\u2800", "\x00"]


@pytest.mark.parametrize(
    "id",
    ["alice ", "alice\u00a0", "al\u200bice", "\u202ealice", "al\u00adice", "\ud800"],
    ids=ascii,
)
@pytest.mark.parametrize("provider", ["x"])
def test_id_that_is_not_all_visible_is_refused(provider, id):
    """It could be taken for another one, by people or by a database."""
    raw = SLACK if provider == "slack" else PROFILES[provider][0]
    path = IDS.get(provider, [])
    name = "sub" if "sub" in raw else "id"

    with pytest.raises(ValueError, match="id"):
        read(provider, changed(raw, *path, **{name: id}))


@pytest.mark.parametrize("id", [*INVISIBLE, "", "alice ", 5, None, ["x"]], ids=ascii)
def test_no_reader_makes_a_profile_with_such_an_id(id):
    with pytest.raises((ValueError, TypeError, AttributeError)):
        Profile(id)


@pytest.mark.parametrize(
    "id", ["a b", "Ada Lovelace", "é😀", "日本", "e\u0301", "x" * 500]
)
def test_id_that_people_can_read_is_taken(id):
    assert Profile(id).id == id


@pytest.mark.parametrize(
    "email", [None, 5, ["a@x.yz"], "ada@x.yz ", "a da@x.yz", "ada@x.yz\u200b"]
)
@pytest.mark.parametrize("provider", ["google", "facebook"])
def test_email_that_looks_like_another_one_is_left_out(provider, email):
    assert read(provider, {**PROFILES[provider][0], "email": email}).email is None


@pytest.mark.parametrize(
    ("provider", "raw"),
    [
        ("github", {"message": "Bad credentials", "status": "401"}),
        ("facebook", {"error": {"message": "Expired", "code": 190}}),
        ("discord", {"message": "401: Unauthorized", "code": 0}),
        ("spotify", {"error": {"status": 401, "message": "Expired"}}),
        ("slack", {"ok": False, "error": "invalid_auth"}),
        ("twitch", {"data": []}),
        ("twitch", {"data": [None]}),
        ("twitch", {"data": ["141981764"]}),
        ("twitch", {"data": {"id": "141981764"}}),
        ("twitch", {"id": "141981764"}),
        ("x", {"data": []}),
        ("x", {"data": "2244994945"}),
        ("x", {"id": "2244994945"}),
        ("x", {"errors": [{"title": "Forbidden"}]}),
    ],
)
def test_error_of_a_provider_is_nobody(provider, raw):
    with pytest.raises(ValueError, match="no id"):
        read(provider, raw)


@pytest.mark.parametrize("said", [False, "false", None, "True", {}])
@pytest.mark.parametrize("provider", ["google", "slack"])
def test_email_that_is_not_verified_is_left_out(provider, said):
    raw = SLACK if provider == "slack" else PROFILES[provider][0]

    assert read(provider, {**raw, "email_verified": said}).email is None


@pytest.mark.parametrize("said", [True, "true"])
@pytest.mark.parametrize("provider", ["google", "apple"])
def test_email_that_is_verified_is_taken(provider, said):
    raw, profile = PROFILES[provider]

    assert read(provider, {**raw, "email_verified": said}) == profile


@pytest.mark.parametrize("provider", ["google", "gitlab", "apple", "linkedin"])
def test_email_that_an_openid_provider_does_not_call_verified_is_left_out(provider):
    raw, _ = PROFILES[provider]

    assert read(provider, without(raw, "email_verified")).email is None


@pytest.mark.parametrize("said", [False, None, "true", 1])
def test_email_of_discord_is_taken_if_it_is_verified_for_sure(said):
    assert read("discord", {**DISCORD, "verified": said}).email is None
    assert read("discord", without(DISCORD, "verified")).email is None


@pytest.mark.parametrize("provider", ["microsoft", "spotify", "x"])
@pytest.mark.parametrize("said", [{}, {"email_verified": True}, {"verified": True}])
def test_email_that_a_provider_does_not_verify_is_left_out(provider, said):
    raw, _ = PROFILES[provider]
    email = {"email": "ada@example.com", "confirmed_email": "ada@example.com", **said}

    assert read(provider, changed(raw, *IDS.get(provider, []), **email)).email is None


@pytest.mark.parametrize(
    ("provider", "raw", "name"),
    [
        ("github", {**GITHUB, "name": None}, "octocat"),
        ("github", {**GITHUB, "name": ""}, "octocat"),
        ("github", {**GITHUB, "name": None, "login": None}, None),
        ("github", {**GITHUB, "name": ["x"]}, "octocat"),
        ("discord", {**DISCORD, "global_name": None}, "nelly"),
        ("discord", without(DISCORD, "global_name", "username"), None),
        ("twitch", changed(TWITCH, "data", 0, display_name=""), "twitchdev"),
        ("x", changed(X, "data", name=None), "TwitterDev"),
        ("spotify", {**SPOTIFY, "display_name": None}, None),
        ("facebook", {**FACEBOOK, "name": 5}, None),
        (
            "google",
            {**GOOGLE, "name": "  Jane\u00a0Smith 日本 "},
            "  Jane\u00a0Smith 日本 ",
        ),
    ],
)
def test_name_is_the_first_that_there_is(provider, raw, name):
    assert read(provider, raw).name == name


@pytest.mark.parametrize(
    ("provider", "raw"),
    [
        *(("facebook", {**FACEBOOK, "picture": x}) for x in [None, {"data": 5}]),
        *(("facebook", {**FACEBOOK, "picture": {"data": x}}) for x in [None, ["x"]]),
        *(("facebook", changed(FACEBOOK, "picture", "data", url=x)) for x in ["", 5]),
        *(("discord", {**DISCORD, "avatar": x}) for x in [None, ["x"]]),
        *(("spotify", {**SPOTIFY, "images": x}) for x in [[], {}]),
        *(("spotify", {**SPOTIFY, "images": [x]}) for x in [None, {"url": 5}]),
        *(("github", {**GITHUB, "avatar_url": x}) for x in [None, "", {"url": "x"}]),
        ("google", {**GOOGLE, "picture": {"data": {"url": "x"}}}),
        ("twitch", changed(TWITCH, "data", 0, profile_image_url="")),
        ("x", changed(X, "data", profile_image_url=None)),
    ],
)
def test_image_that_is_not_there_is_left_out(provider, raw):
    assert read(provider, raw).avatar is None


@pytest.mark.parametrize(
    ("raw", "profile"),
    [
        ({"sub": "s", "id": "i"}, Profile("s")),
        ({"id": 5, "username": "ada"}, Profile("5", name="ada")),
        ({"id": "i", "display_name": "A", "login": "b"}, Profile("i", name="A")),
        ({"id": "i", "avatar": "https://a"}, Profile("i", avatar="https://a")),
        (
            {"id": "i", "email": "a@b.c", "email_verified": False},
            Profile("i"),
        ),
        ({"id": "i", "email": "a@b.c"}, Profile("i", "a@b.c")),
        ({"sub": "s", "email": "a@b.c"}, Profile("s")),
        ({"sub": "s", "id": "i", "email": "a@b.c"}, Profile("s")),
        (
            {"sub": "s", "email": "a@b.c", "email_verified": True},
            Profile("s", "a@b.c"),
        ),
    ],
)
def test_profile_of_any_other_provider_is_read_as_most_write_it(raw, profile):
    assert profile_of_claims(raw) == profile
    assert Provider("company").read_profile(raw) == profile


NAMES = sorted(
    {
        *("id", "sub", "data", "email", "email_verified", "verified", "picture", "url"),
        *("images", "avatar", "name", "login", "display_name", "global_name"),
    }
)

SIMPLE = st.sampled_from([None, True, 0, 7, 1.5, "", "x", "7", [], {}])

VALUES = st.recursive(
    SIMPLE,
    lambda values: (
        st.lists(values, max_size=2)
        | st.dictionaries(st.sampled_from(NAMES), values, max_size=4)
    ),
    max_leaves=6,
)

OBJECTS = st.dictionaries(
    st.sampled_from(NAMES),
    VALUES,
    max_size=6,
)


@pytest.mark.parametrize("provider", ["discord", "facebook", "google", "twitch"])
@settings(deadline=None)
@given(raw=OBJECTS)
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


def test_apple_posts_its_answer():
    assert [name for name, known in KNOWN.items() if known.posts_back] == ["apple"]
