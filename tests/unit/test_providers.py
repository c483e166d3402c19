"""Profiles of providers, as these document them, and what is left out of them."""

import pytest

from flask_records.authentication.providers import Profile, PROVIDERS

GOOGLE = {
    "iss": "https://accounts.google.com",
    "sub": "10769150350006150715113082367",
    "email": "jsmith@example.com",
    "email_verified": True,
    "name": "Jane Smith",
    "picture": "https://lh3.googleusercontent.com/a/AItbvmm=s96-c",
}

GITHUB = {
    "login": "octocat",
    "id": 583231,
    "avatar_url": "https://avatars.githubusercontent.com/u/583231?v=4",
    "name": "The Octocat",
    "email": "octocat@github.com",
}

FACEBOOK = {
    "id": "10160028394756123",
    "name": "Ada Lovelace",
    "email": "ada@example.com",
}

DISCORD = {
    "id": "80351110224678912",
    "username": "nelly",
    "global_name": "Nelly",
    "avatar": "8342729096ea3675442027381ff50dfe",
    "verified": True,
    "email": "nelly@discord.com",
}


def read(provider, raw):
    return PROVIDERS[provider].read_profile(raw)


@pytest.mark.parametrize(
    ("provider", "raw", "profile"),
    [
        (
            "google",
            GOOGLE,
            Profile(
                GOOGLE["sub"], "jsmith@example.com", "Jane Smith", GOOGLE["picture"]
            ),
        ),
        (
            "github",
            GITHUB,
            Profile(
                "583231", "octocat@github.com", "The Octocat", GITHUB["avatar_url"]
            ),
        ),
        (
            "facebook",
            FACEBOOK,
            Profile("10160028394756123", "ada@example.com", "Ada Lovelace"),
        ),
        ("discord", DISCORD, Profile(DISCORD["id"], "nelly@discord.com", "Nelly")),
        ("microsoft", GOOGLE, Profile(GOOGLE["sub"], name="Jane Smith")),
        # Apple writes it as text.
        (
            "apple",
            {"sub": "1", "email": "a@b.c", "email_verified": "true"},
            Profile("1", "a@b.c"),
        ),
        # Others are read as most write it.
        ("gitlab", {"sub": "s", "id": "i"}, Profile("s")),
        ("github", {"id": 5, "username": "ada"}, Profile("5", name="ada")),
        (
            "github",
            {"id": "i", "display_name": "A", "login": "b"},
            Profile("i", name="A"),
        ),
        (
            "github",
            {"id": "i", "avatar": "https://a"},
            Profile("i", avatar="https://a"),
        ),
    ],
)
def test_profile_of_a_provider_is_understood(provider, raw, profile):
    assert read(provider, raw) == profile


@pytest.mark.parametrize(
    ("provider", "raw"),
    [
        *(("google", {**GOOGLE, "sub": id}) for id in (None, "", True, 1.5, ["7"])),
        ("github", {"message": "Bad credentials", "status": "401"}),
        ("discord", {"error": {"message": "Expired", "code": 190}}),
    ],
)
def test_profile_without_an_id_is_nobody(provider, raw):
    with pytest.raises(ValueError, match="no id"):
        read(provider, raw)


@pytest.mark.parametrize(
    "id",
    [
        *("", " ", "\n", "\u3164", "\x00", "alice ", " alice", "x" * 256),
        *("al\u200bice", "\u202ealice", "al\u00adice", "\ud800", "\u00e9"),
    ],
    ids=ascii,
)
def test_id_that_is_not_all_visible_is_refused(id):
    """It could be taken for another one, by people or by a database."""
    with pytest.raises(ValueError, match="no id"):
        Profile(id)


@pytest.mark.parametrize("id", ["7", "a b", "cn=Ada Lovelace,ou=People", "x" * 255])
def test_id_that_people_can_read_is_taken(id):
    assert Profile(id).id == id


@pytest.mark.parametrize(
    ("provider", "changes"),
    [
        *(
            ("facebook", {"email": email})
            for email in (5, ["a@x.yz"], "ada@x.yz ", "a da@x.yz", "ada@x.yz\u200b")
        ),
        *(("facebook", {"email": email}) for email in ("a\uff20x.yz@x.yz", "a@b@x.yz")),
        *(
            ("google", {"email_verified": said})
            for said in (False, "false", None, "True", {})
        ),
        *(("discord", {"verified": said}) for said in (False, None, "false")),
        ("github", {"email": "a@x.yz", "email_verified": False}),
        ("github", {"email": "a@x.yz", "verified_email": False}),
        ("github", {"sub": "s", "email": "a@x.yz"}),
        ("github", {"sub": "s", "email": "a@x.yz", "verified_email": True}),
        ("microsoft", {"email": "a@x.yz", "email_verified": True}),
    ],
)
def test_email_is_left_out_unless_it_is_plain_and_verified(provider, changes):
    raw = {"google": GOOGLE, "discord": DISCORD}.get(provider, GITHUB)

    assert read(provider, {**raw, **changes}).email is None


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ({"id": 1, "name": None, "login": "octocat"}, "octocat"),
        ({"id": 1, "name": "", "login": ["x"]}, None),
        ({"id": 1, "name": "  "}, None),
        ({"id": 1, "name": "a\nb"}, None),
        ({"id": 1, "name": "\u0645\u06cc\u200c"}, "\u0645\u06cc\u200c"),
    ],
)
def test_name_is_the_first_there_is_if_it_is_text_of_one_line(raw, name):
    assert read("github", raw).name == name


@pytest.mark.parametrize(
    "url",
    [
        *(
            None,
            {"url": "x"},
            "javascript:x",
            "/1.png",
            "//a.example/1.png",
            "https://",
        ),
        *(
            'https://img.example/"onload="x',
            "https://img.example/\ud800",
            "https://a b",
        ),
    ],
    ids=ascii,
)
def test_image_that_is_no_web_address_is_left_out(url):
    assert read("github", {"id": 1, "avatar_url": url}).avatar is None
