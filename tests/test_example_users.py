"""The users of the example application."""

from __future__ import annotations

import hashlib

import pytest

from .effort import at_most
from .example import Api
from .example import loaded
from .example import new_email
from .example import ON_SQLITE
from .processes import PASSWORD

AVATAR = "/static/avatar.svg"

GRAVATAR = {"FLASK_GRAVATAR": "true"}


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Ann@Example.COM", "ann@example.com"),
        ("  bea@example.com\n", "bea@example.com"),
        ("ｃａｒｌ＠ｅｘａｍｐｌｅ．ｃｏｍ", "carl@example.com"),
        ("ＤＡＮ@example.com", "dan@example.com"),
        ("e\u0301va@example.com", "\u00e9va@example.com"),
        ("FRE\u0301D@example.com", "fr\u00e9d@example.com"),
        ("Groß@example.com", "gross@example.com"),
        ("ﬁona@example.com", "fiona@example.com"),
        (
            "\u039c\u0386\u03a1\u0399\u039f\u03a3@a.com",
            "\u03bc\u03ac\u03c1\u03b9\u03bf\u03c3@a.com",
        ),
        ("ｓß\u0323a@example.com", "ss\u1e63a@example.com"),
        ("\u212aim@example.com", "kim@example.com"),
        ("l" * 64 + "@" + "x" * 185 + ".com", "l" * 64 + "@" + "x" * 185 + ".com"),
    ],
)
def test_email_is_one_in_any_case_and_unicode_form(api, typed, kept):
    forms = typed, kept, kept.upper()
    other = api.person()

    status, user = api.register(typed)
    taken = [api.register(form) for form in forms]
    taken += [api("PATCH", other.path, {"email": form}, other.token) for form in forms]
    logins = [api.log_in(form) for form in forms]

    assert (status, user["email"]) == (201, kept)
    assert [(status, body["errors"]) for status, body in taken] == [
        (409, {"email": "has to be unique"})
    ] * 6
    assert [(status, body["user"]) for status, body in logins] == [(201, user)] * 3


def test_email_is_kept_in_one_form_when_it_changes(api):
    person = api.person()
    emails = new_email(), new_email()

    answers = [
        api("PATCH", person.path, {"email": f" {emails[0].title()}"}, person.token),
        api("PUT", person.path, {"email": emails[1].upper()}, person.token),
    ]

    assert [(status, body["email"]) for status, body in answers] == [
        (200, email) for email in emails
    ]
    assert [api.log_in(email)[0] for email in (person.email, *emails)] == [
        401,
        401,
        201,
    ]


BAD_EMAILS = [
    *(None, "", " ", 5, True, [], {}, {"$ne": "x"}, ["ann@example.com"]),
    *("ann", "@example.com", "ann@", "ann@a@example.com", "ann@@example.com"),
    *("an n@example.com", "ann@exam ple.com", "ann@exam\u3000ple.com"),
    *("an\0n@example.com", "an\nn@example.com", "ann@example.com\x7f"),
    *("an\u0080n@example.com", "an\u200bn@example.com", "\u202ena@example.com"),
    *("l" * 65 + "@example.com", "ann@" + "x" * 247 + ".com", "\ufdfa@example.com"),
    *("an\ud800n@example.com", "ann@\udfffexample.com"),
]


@ON_SQLITE
@pytest.mark.parametrize("email", BAD_EMAILS, ids=lambda email: ascii(email)[:30])
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_what_is_no_email_is_refused(api, verb, email):
    path, token, _ = api.about_user(verb)

    status, body = api(verb, path, {"email": email, "password": PASSWORD}, token)

    assert (status, sorted(body["errors"])) == (400, ["email"])


@ON_SQLITE
def test_long_email_is_refused_before_it_is_normalized(api):
    """The time that takes grows with the square of the accents."""
    email = "a" + "\u0301" * 30_000 + "\u0327" * 30_000 + "@a.com"

    with at_most(units=100):
        status, body = api.register(email)

    assert (status, sorted(body["errors"])) == (400, ["email"])


def test_email_is_required_to_register(api):
    status, body = api("POST", "/users", {"password": PASSWORD})

    assert (status, body["errors"]) == (400, {"email": "is required"})


@ON_SQLITE
def test_problems_of_a_user_are_told_at_once(api):
    data = {"email": "ann", "avatar": "a.png", "name": 5, "githubId": "1", "age": 9}

    status, body = api("POST", "/users", data)

    assert (status, body["errors"]) == (
        400,
        {
            "email": "is not an email address",
            "password": "is required",
            "avatar": "is not an address that begins with http:// or https://",
            "name": "is not text",
            "githubId": "is read-only",
            "age": "is not a field",
        },
    )


@ON_SQLITE
def test_update_leaves_out_what_is_not_required(api):
    person = api.person()

    status, user = api("PUT", person.path, {"name": "Ann"}, person.token)

    assert (status, user["name"], user["email"]) == (200, "Ann", None)


def test_avatar_tells_nothing_of_the_email(api):
    person = api.person()
    data = {"email": new_email()}

    answers = [
        api("GET", person.path, None, person.token),
        api("PUT", person.path, data, person.token),
        api("PATCH", person.path, {"avatar": None}, person.token),
        api("PATCH", person.path, {"avatar": AVATAR}, person.token),
    ]

    assert [(status, user["avatar"]) for status, user in answers] == [(200, AVATAR)] * 4


def test_avatar_of_a_user_of_python_is_the_same(example):
    with example.app.app_context():
        user = example.users.create({"name": "Alan"})

    assert user["avatar"] == AVATAR


@ON_SQLITE
def test_avatar_is_an_image_below_the_prefix_of_the_application(example):
    data = {"email": new_email(), "password": PASSWORD}
    client = example.app.test_client()

    user = client.post("/users", json=data, environ_overrides={"SCRIPT_NAME": "/chat"})

    with client.get(user.json["avatar"].removeprefix("/chat")) as image:
        assert user.json["avatar"] == f"/chat{AVATAR}"
        assert image.mimetype == "image/svg+xml"
        assert image.headers["X-Content-Type-Options"] == "nosniff"


def test_avatar_is_that_of_gravatar_if_a_setting_says_so(tmp_path):
    email = new_email()

    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path, **GRAVATAR) as example:
        status, user = Api(example.app).register(email.upper())

    digest = hashlib.sha256(email.encode()).hexdigest()
    assert status == 201
    assert user["avatar"] == f"https://gravatar.com/avatar/{digest}"


def test_avatar_that_is_given_is_kept(api):
    avatars = "https://example.com/a%20b.png?size=9", "http://localhost/" + "x" * 480
    person = api.person(avatar=avatars[0])
    data = {"email": person.email, "avatar": avatars[0]}

    answers = [
        api("GET", person.path, None, person.token),
        api("PATCH", person.path, {"avatar": avatars[1]}, person.token),
        api("PATCH", person.path, {"email": new_email()}, person.token),
        api("PUT", person.path, data, person.token),
    ]

    assert [body["avatar"] for _, body in answers] == [
        *(avatars[0], avatars[1], avatars[1], avatars[0])
    ]


@ON_SQLITE
@pytest.mark.parametrize(
    "avatar",
    [
        *("", " ", 5, True, [], {}, ["https://example.com/a"], "picture.png"),
        *("javascript:alert(1)", "data:image/png;base64,AAAA", "//example.com/a"),
        *(
            "ftp://example.com/a",
            "https://",
            "https:/a",
            "https://a.com/ b",
            "file:///a",
        ),
        *('https://a.com/"onload="x', "https://a.com/<b>", "https://a.com/\0"),
        *("https://a.com/" + "x" * 500, "xhttps://a.com/b", "https://a.com/\ud800"),
    ],
    ids=lambda avatar: ascii(avatar)[:30],
)
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_what_is_no_avatar_is_refused(api, verb, avatar):
    path, token, email = api.about_user(verb)
    data = {"email": email, "password": PASSWORD, "avatar": avatar}

    status, body = api(verb, path, data, token)

    assert (status, sorted(body["errors"])) == (400, ["avatar"])


@ON_SQLITE
@pytest.mark.parametrize("field", ["githubId", "googleId", "createdAt"])
@pytest.mark.parametrize("kind", ["json", "data"])
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_client_does_not_write_fields_of_the_application(api, verb, kind, field):
    path, token, email = api.about_user(verb)
    body = {"email": email, "password": PASSWORD, field: "2020-01-01T00:00:00Z"}

    answer = api(verb, path, token=token, **{kind: body})

    assert (answer[0], answer[1]["errors"]) == (400, {field: "is read-only"})


def test_client_does_not_choose_the_id(api):
    person = api.person()
    data = {"email": person.email, "id": 2**31 - 1}

    created = api.register(new_email(), id=2**31 - 1)
    changed = [api(verb, person.path, data, person.token) for verb in ("PUT", "PATCH")]

    assert (created[0], created[1]["errors"]) == (400, {"id": "is read-only"})
    assert [body["id"] for _, body in changed] == [person.id] * 2


def test_python_writes_what_is_not_the_clients(example, api):
    person = api.person()

    with example.app.app_context():
        example.users.patch(person.id, {"githubId": f"gh-{person.id}"})

    _, user = api("GET", person.path, None, person.token)
    _, kept = api("PUT", person.path, {"email": person.email}, person.token)
    assert user["githubId"] == kept["githubId"] == f"gh-{person.id}"
    assert user["createdAt"] == kept["createdAt"]
