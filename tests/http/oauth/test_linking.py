"""A user who is logged in connects a login at a provider."""

import pytest

from flask_records import TableTokens
from tests.authentication import bearer, signed
from tests.http.oauth.messages import EMAIL_TAKEN
from tests.oauth_providers import (
    ADA,
    ADA_USER,
    answer_of,
    error_of,
    HOME,
    make_members,
    Token,
    token_of,
)


@pytest.fixture
def records():
    return make_members(tokens=TableTokens(Token))


@pytest.fixture
def ann(site):
    """The id and the token of a user with a password."""
    return site.register(email="ann@example.com", name="Ann")


def links(site):
    """Return the profiles that users are connected to, by user."""
    return {user["id"]: user["fakeId"] for user in site.users()}


def test_login_is_linked_to_the_user_of_the_token(site, ann):
    id, token = ann

    answer = site.link(token, "&redirect=/page")

    user = {**ADA_USER, "id": id, "email": "ann@example.com", "name": "Ann"}
    assert answer_of(answer)[0] == f"{HOME}/page"
    assert site.users() == [user]
    assert site.caller(token_of(answer)) == user
    # It needs no token any more.
    assert site.caller(token_of(site.log_in()))["id"] == id


def test_profile_of_another_user_is_not_linked(site):
    site.log_in()
    id, token = site.register(email="ann@example.com")

    answer = site.link(token)

    message = "This Fake login belongs to another user."
    assert answer_of(answer) == (HOME, {"error": message})
    assert links(site) == {1: "p-1001", id: None}


def test_email_of_a_local_user_is_an_error_and_never_a_link(site):
    site.register(email=ADA["email"])

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": EMAIL_TAKEN})
    assert links(site) == {1: None}


def log_out(site, id, token):
    site.client.delete("/authentication", headers=bearer(token))


def change_password(site, id, token):
    data = {"password": "another horse"}
    answer = site.client.patch(f"/users/{id}", json=data, headers=bearer(token))
    assert answer.status_code == 200


def remove_user(site, id, token):
    with site.app.app_context():
        site.app.extensions["records"]["users"].remove(id)


@pytest.mark.parametrize("end", [log_out, change_password, remove_user])
def test_a_token_that_ends_meanwhile_links_nothing(site, ann, end):
    back = site.authorize(site.connect(ann[1]))
    end(site, *ann)

    answer = site.visit(back)

    assert error_of(answer) in ("jwt revoked", "The user of the token is gone.")
    assert set(links(site).values()) <= {None}


@pytest.mark.parametrize("origin", ["cross-site", "same-site", "none", None])
def test_token_is_refused_from_other_pages(site, ann, origin):
    headers = {} if origin is None else {"Sec-Fetch-Site": origin}

    answer = site.start(f"?feathers_token={ann[1]}", headers=headers)

    message = (
        "'feathers_token' is accepted from pages of the same origin only, over HTTPS or"
        " on localhost."
    )
    assert answer_of(answer) == (HOME, {"error": message})
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("nonsense", "jwt malformed"),
        (signed(exp=1), "jwt expired"),
    ],
    ids=lambda value: value[:20],
)
def test_a_token_that_is_not_valid_links_nothing(site, token, message):
    answer = site.connect(token)

    assert answer_of(answer) == (HOME, {"error": message})
    assert "Set-Cookie" not in answer.headers
