"""People register with the example, log in, and change their records."""

import pytest
import sqlalchemy as sa

from ...processes import PASSWORD
from .people import new_email

VISIBLE = ["avatar", "createdAt", "email", "githubId", "googleId", "id", "name"]

OTHER_PASSWORD = "a staple for the battery"


def target_of(api, verb):
    """The path, the user and the email of a write to a user."""
    if verb == "POST":
        return "/users", None, new_email()

    person = api.person()
    return person.path, person, person.email


@pytest.mark.parametrize("body", ["json", "data"])
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_password_is_stored_as_a_hash_and_logs_in(example, api, verb, body):
    path, person, email = target_of(api, verb)
    data = {"email": email, "password": OTHER_PASSWORD}

    status, user = api(verb, path, person=person, **{body: data})

    query = sa.select(example.User.password).where(example.User.email == email)

    with example.app.app_context():
        stored = example.db.session.scalar(query)

    logins = api.log_in(email, OTHER_PASSWORD), api.log_in(email)
    assert (status, sorted(user)) == (201 if verb == "POST" else 200, VISIBLE)
    assert stored.startswith("$argon2id$")
    assert [login[0] for login in logins] == [201, 401]
    assert logins[0][1]["user"] == user


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"email": None}, ["email"]),
        ({"email": "ann"}, ["email"]),
        ({"email": "ann@" + "x" * 300}, ["email"]),
        ({"password": ""}, ["password"]),
        ({"githubId": "1"}, ["githubId"]),
        ({"googleId": "1"}, ["googleId"]),
        ({"createdAt": "2020-01-01T00:00:00Z"}, ["createdAt"]),
    ],
    ids=lambda value: ascii(value)[:40],
)
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_bad_fields_are_refused_by_name(api, verb, fields, problems):
    path, person, email = target_of(api, verb)
    data = {"email": email, "password": PASSWORD, **fields}

    status, body = api(verb, path, data, person)

    if fields == {"email": None} and verb != "POST":
        # A user who logs in at a provider needs none.
        assert (status, body["email"]) == (200, None)
    else:
        assert (status, sorted(body["errors"])) == (400, problems)


def test_email_is_the_same_in_any_case(api):
    other = api.person()
    email = new_email()
    forms = email.upper(), email.title()

    status, user = api.register(forms[0])
    taken = [api.register(form) for form in forms]
    taken.append(api("PATCH", other.path, {"email": forms[1]}, other))
    logins = [api.log_in(form) for form in forms]

    assert (status, user["email"]) == (201, email)
    assert [(status, body["errors"]) for status, body in taken] == [
        (409, {"email": "has to be unique"})
    ] * 3
    assert taken[0][1]["message"] == "This email has an account. Log in instead."
    assert [(status, body["user"]) for status, body in logins] == [(201, user)] * 2


def test_avatar_is_an_image_of_the_example_until_the_user_has_their_own(example, api):
    person = api.person()
    avatar = "https://example.com/ann.png"

    _, before = api("GET", person.path, None, person)
    _, after = api("PATCH", person.path, {"avatar": avatar}, person)

    image = example.app.test_client().get(before["avatar"])
    assert (image.status_code, image.mimetype) == (200, "image/svg+xml")
    assert after["avatar"] == avatar


def test_user_is_removed_with_their_messages_and_leaves_their_rooms(api, ann, bob):
    room = api("POST", "/rooms", {"name": "Attic"}, ann)[1]
    api("POST", "/messages", [{"text": "one"}, {"text": "two"}], ann)

    api("DELETE", ann.path, None, ann)

    left = api("GET", f"/messages?userId={ann.id}", None, bob)[1]
    assert left["total"] == 0
    assert api("GET", f"/rooms/{room['id']}", None, bob)[1] == {**room, "userId": None}
