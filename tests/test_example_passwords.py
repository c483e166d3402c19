"""The passwords of the example application: hashed, and told to nobody."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from .example import new_email
from .example import ON_SQLITE
from .processes import PASSWORD

OTHER_PASSWORD = "a staple for the battery"


@pytest.fixture
def hash_of(example):
    """A function that returns what is stored as the password of a user."""

    def hash_of(email):
        query = sa.select(example.User.password).where(example.User.email == email)

        with example.app.app_context():
            return example.db.session.scalar(query)

    return hash_of


@ON_SQLITE
@pytest.mark.parametrize(
    "password",
    [None, "", 5, 0, 2.5, True, False, [], [PASSWORD], {}, {"$ne": ""}, "x" * 1025],
    ids=lambda password: str(password)[:20],
)
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_what_is_no_password_is_refused(api, hash_of, verb, password):
    path, token, email = api.about_user(verb)
    before = hash_of(email)

    status, body = api(verb, path, {"email": email, "password": password}, token)

    assert (status, sorted(body["errors"])) == (400, ["password"])
    assert hash_of(email) == before


@ON_SQLITE
@pytest.mark.parametrize("kind", ["json", "data"])
@pytest.mark.parametrize("rest", [{}, {"Password": PASSWORD}, {"password[]": PASSWORD}])
def test_password_is_required_to_register(api, kind, rest):
    body = {"email": new_email(), **rest}

    answer = api("POST", "/users", **{kind: body})

    # Other names are told besides, which no parser has taken for the password's.
    others = [name for name in rest if name in answer[1]["errors"]]
    problems = {"password": "is required"} | dict.fromkeys(others, "is not a field")
    assert (answer[0], answer[1]["errors"]) == (400, problems)


@pytest.mark.parametrize("password", ["x", " ", "x" * 1024, "nul\0nul", "pässwörd 🔑"])
@pytest.mark.parametrize("kind", ["json", "data"])
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_password_is_hashed_and_can_log_in(api, hash_of, verb, kind, password):
    path, token, email = api.about_user(verb)

    status, _ = api(
        verb, path, token=token, **{kind: {"email": email, "password": password}}
    )

    assert status == (200 if token else 201)
    assert hash_of(email).startswith("$argon2id$")
    assert api.log_in(email, password)[0] == 201
    assert api.log_in(email)[0] == 401


def test_password_is_hashed_when_python_writes_it(example, hash_of):
    data = {"email": new_email(), "password": PASSWORD}
    hashes = []

    with example.app.app_context():
        id = example.users.create(data)["id"]
        hashes.append(hash_of(data["email"]))
        example.users.patch(id, {"password": PASSWORD})
        hashes.append(hash_of(data["email"]))
        example.users.update(id, data)
        hashes.append(hash_of(data["email"]))

    assert [hash[:10] for hash in hashes] == ["$argon2id$"] * 3
    assert len(set(hashes)) == 3


@pytest.mark.parametrize("password", ["", None, "None", "null", PASSWORD, "\0"])
def test_user_without_a_password_does_not_log_in(example, api, password):
    """Those of the example's data have none."""
    data = {"email": new_email(), "name": "Alan"}

    with example.app.app_context():
        example.users.create(data)

    status, body = api.log_in(data["email"], password)
    assert (status, body["message"]) == (401, "Invalid login")


def test_many_users_are_refused_before_a_password_is_hashed(api):
    """One request could keep the server busy for long."""
    too_long = {"email": new_email(), "password": "x" * 1025}

    status, body = api("POST", "/users", [too_long])

    assert (status, body["message"]) == (405, "Can not create multiple entries")


def test_change_of_the_password_ends_all_logins(api):
    person = api.person()
    tokens = person.token, api.token(person.email)

    api("PATCH", person.path, {"password": OTHER_PASSWORD}, person.token)

    answers = [api("GET", "/rooms", None, token) for token in tokens]
    assert [(status, body["message"]) for status, body in answers] == [
        (401, "jwt revoked")
    ] * 2
    assert api.log_in(person.email)[0] == 401
    new = api.token(person.email, OTHER_PASSWORD)
    assert api("GET", "/rooms", None, new)[0] == 200


def test_update_without_a_password_keeps_it(api):
    person = api.person()

    status, _ = api("PUT", person.path, {"email": person.email}, person.token)

    assert (status, api.log_in(person.email)[0]) == (200, 201)


def test_events_have_no_password_and_no_token(example, api):
    sent = []

    def remember(event, record, context):
        sent.append((event, record))

    example.records.events.connect(remember)
    person = api.person()
    api("PATCH", person.path, {"name": "Ida"}, person.token)
    api(
        "PUT",
        person.path,
        {"email": person.email, "password": OTHER_PASSWORD},
        person.token,
    )
    token = api.token(person.email, OTHER_PASSWORD)
    api("DELETE", "/authentication", None, token)
    api("DELETE", person.path, None, api.token(person.email, OTHER_PASSWORD))
    example.records.events.disconnect(remember)

    secrets = "password", "accessToken", PASSWORD, OTHER_PASSWORD, "$argon2", "eyJ"
    assert [event for event, _ in sent] == (
        "created login patched updated login logout login removed".split()
    )
    assert [secret for secret in secrets if secret in str(sent)] == []


@pytest.mark.parametrize(
    ("fields", "status", "errors"),
    [
        ({"email": "taken@example.com"}, 409, ["email"]),
        ({"name": ["Ada"]}, 400, ["name"]),
        ({"name": "x" * 101}, 400, ["name"]),
        ({"avatar": 5}, 400, ["avatar"]),
        ({"nope": 5}, 400, ["nope"]),
        ({"email": {"$ne": 1}}, 400, ["email"]),
        ({"messages": [1]}, 400, ["messages"]),
    ],
)
@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_error_does_not_tell_the_password(api, caplog, verb, fields, status, errors):
    api.register("taken@example.com")
    path, token, email = api.about_user(verb)
    data = {"email": email, "password": OTHER_PASSWORD, **fields}

    answer = api(verb, path, data, token)

    assert (answer[0], sorted(answer[1]["errors"])) == (status, errors)
    assert [
        secret
        for secret in (OTHER_PASSWORD, "$argon2")
        if secret in str(answer) + caplog.text
    ] == []


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_log_does_not_tell_the_hash_when_the_database_fails(example, api, caplog, verb):
    path, token, email = api.about_user(verb)

    def fail(connection, cursor, statement, parameters, *rest):
        """Let the database refuse what is written, as if a disk were full."""
        is_write = statement.startswith(("INSERT INTO user", "UPDATE user"))
        return f"nonsense {statement}" if is_write else statement, parameters

    with example.app.app_context():
        engine = example.db.engine

    sa.event.listen(engine, "before_cursor_execute", fail, retval=True)
    status, body = api(verb, path, {"email": email, "password": OTHER_PASSWORD}, token)
    sa.event.remove(engine, "before_cursor_execute", fail)

    assert (status, body["message"]) == (500, "Internal server error")
    assert "nonsense" in caplog.text
    assert [
        secret for secret in (OTHER_PASSWORD, "$argon2") if secret in caplog.text
    ] == []
