"""Users of the example application who unlink a login at a provider."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa

from .authentication import bearer
from .example import Api
from .example import kind
from .example import loaded
from .processes import PASSWORD

PROVIDERS = {
    f"FLASK_RECORDS_AUTHENTICATION__oauth__{name}__{key}": f"{name}-{key}"
    for name in ("github", "google")
    for key in ("key", "secret")
}

ONLY = "This is your only login. Set a password, or connect another login first."


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The example application with two providers."""
    folder = tmp_path_factory.mktemp("unlinking")

    with loaded(f"sqlite:///{folder}/new.db", folder, **PROVIDERS) as module:
        yield module


@pytest.fixture
def ann(example, api):
    """A user with a password and both logins."""
    person = api.person()
    store(example, person, githubId=f"hub-{person.id}", googleId=f"goo-{person.id}")
    return person


def renewed(example, person):
    """A user with a new token: a change of the password ends the others."""
    with example.app.app_context():
        user = example.users.get(person.id)
        token, _ = example.authentication.target.create_token(user)

    return replace(person, token=token)


def store(example, person, **fields):
    """Change a user as no client can."""
    with example.app.app_context():
        statement = sa.update(example.User).where(example.User.id == person.id)
        example.db.session.execute(statement.values(fields))
        example.db.session.commit()


def unlink(api, person, provider):
    headers = {**bearer(person.token), "X-Service-Method": "unlink"}
    return api("POST", "/users", {"provider": provider}, headers=headers)


def logins(api, person):
    user = api("GET", person.path, None, person.token)[1]
    return user["githubId"], user["googleId"]


def test_user_with_a_password_unlinks_all_logins(api, ann):
    answers = [unlink(api, ann, provider) for provider in ("github", "google")]

    assert [status for status, _ in answers] == [200, 200]
    assert [sorted(user) for _, user in answers] == [
        ["avatar", "createdAt", "email", "githubId", "googleId", "id", "name"]
    ] * 2
    assert logins(api, ann) == (None, None)
    assert api.log_in(ann.email, PASSWORD)[0] == 201


@pytest.mark.parametrize("missing", ["password", "email"])
def test_user_who_can_not_use_a_password_keeps_one_login(example, api, ann, missing):
    store(example, ann, **{missing: None})
    ann = renewed(example, ann)

    first, second = (unlink(api, ann, provider) for provider in ("google", "github"))

    assert first[0] == 200
    assert (kind(second), second[1]["message"]) == ((409, "Conflict"), ONLY)
    assert logins(api, ann) == (f"hub-{ann.id}", None)


def test_login_at_a_provider_that_is_gone_does_not_count(tmp_path, monkeypatch):
    only_github = {name: text for name, text in PROVIDERS.items() if "github" in name}

    # The application of the other tests is configured by the environment, too.
    for name in PROVIDERS.keys() - only_github.keys():
        monkeypatch.delenv(name, raising=False)

    with loaded(f"sqlite:///{tmp_path}/x.db", tmp_path, **only_github) as example:
        api = Api(example.app)
        ann = api.person()
        store(example, ann, githubId="1", googleId="2", password=None)
        ann = renewed(example, ann)

        assert unlink(api, ann, "google")[0] == 200
        store(example, ann, googleId="2")
        assert unlink(api, ann, "github")[1]["message"] == ONLY


def test_unlinking_touches_nobody_else(example, api, ann):
    bob = api.person()
    store(example, bob, githubId="of bob")

    unlink(api, ann, "github")

    assert logins(api, bob) == ("of bob", None)


@pytest.mark.parametrize("provider", [None, "", "email", "password", [], {}, 1])
def test_provider_must_be_known(api, ann, provider):
    answer = unlink(api, ann, provider)

    assert (kind(answer), answer[1]["errors"]) == (
        (400, "BadRequest"),
        {"provider": "should be 'github' or 'google'"},
    )


@pytest.mark.parametrize("data", [[], [{"provider": "github"}]])
def test_unlinking_takes_an_object(api, ann, data):
    headers = {**bearer(ann.token), "X-Service-Method": "unlink"}

    assert api("POST", "/users", data, headers=headers)[0] == 400


def test_unlinking_takes_a_login(api):
    headers = {"X-Service-Method": "unlink"}

    answer = api("POST", "/users", {"provider": "github"}, headers=headers)

    assert kind(answer) == (401, "NotAuthenticated")
