"""A user who is logged in connects a login at a provider."""

from __future__ import annotations

import time

import jwt
import pytest

from flask_records import TableRevocations
from tests.authentication import bearer
from tests.authentication import SECRET
from tests.authentication import signed
from tests.http.oauth.sites import EMAIL_TAKEN
from tests.oauth_providers import ADA
from tests.oauth_providers import ADA_USER
from tests.oauth_providers import answer_of
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import make_members
from tests.oauth_providers import RevokedToken
from tests.oauth_providers import serving_logins
from tests.oauth_providers import StrictMember
from tests.oauth_providers import token_of
from tests.waiting import wait_until

PROFILE_TAKEN = "This Fake login belongs to another user."
OTHER_PAGE = (
    "'feathers_token' is accepted from pages of the same origin only, over HTTPS or on"
    " localhost."
)


def logged_out(reason):
    """The message for a token that is not valid."""
    return (
        f"Your login is not valid ({reason}). Log in again, then connect the other one."
    )


@pytest.fixture
def records():
    return make_members(revocations=TableRevocations(RevokedToken))


@pytest.fixture
def site(provider, records):
    with serving_logins({"fake": provider}, records=records) as site:
        yield site


@pytest.fixture
def ann(site):
    """The id and the token of a user with a password."""
    return site.register(email="ann@example.com", name="Ann")


def links(site):
    """Return the profiles that users are connected to, by user."""
    return {user["id"]: user["fakeId"] for user in site.users()}


# What is linked


def test_login_is_linked_to_the_user_of_the_token(site, ann):
    id, token = ann

    answer = site.link(token)

    user = {**ADA_USER, "id": id, "email": "ann@example.com", "name": "Ann"}
    assert site.users() == [user]
    assert site.caller(token_of(answer)) == user


def test_linked_profile_logs_its_user_in(site, ann):
    id, token = ann
    site.link(token)

    answer = site.log_in()

    assert site.caller(token_of(answer))["id"] == id
    assert len(site.users()) == 1


def test_users_are_linked_whatever_their_id_is(provider):
    with serving_logins({"fake": provider}, records=make_members(StrictMember)) as site:
        id, token = site.register(email="ann@example.com")

        answer = site.link(token)

        assert answer.status_code == 302
        assert site.caller(token_of(answer))["id"] == id


def test_profile_of_another_user_is_not_linked(site):
    site.log_in()
    id, token = site.register(email="ann@example.com")
    before = site.users()

    answer = site.link(token)

    assert answer_of(answer) == (HOME, {"error": PROFILE_TAKEN})
    assert site.users() == before


def test_email_of_a_local_user_is_an_error_and_never_a_link(site):
    site.register(email=ADA["email"])
    before = site.users()

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": EMAIL_TAKEN})
    assert site.users() == before


# While the user is at the provider


def log_out(site, id, token):
    site.browser.delete(f"{site.url}/authentication", headers=bearer(token))


def change_password(site, id, token):
    url, data = f"{site.url}/users/{id}", {"password": "another horse"}
    assert site.browser.patch(url, json=data, headers=bearer(token)).status_code == 200


def remove_user(site, id, token):
    with site.app.app_context():
        site.app.extensions["records"]["users"].remove(id)


@pytest.mark.parametrize(
    ("end", "reasons"),
    [
        (log_out, ["jwt revoked"]),
        (change_password, ["jwt revoked"]),
        (remove_user, ["jwt revoked", "The user of the token is gone"]),
    ],
)
def test_a_token_that_ends_meanwhile_links_nothing(site, ann, end, reasons):
    back = site.authorize(site.connect(ann[1]))
    end(site, *ann)

    answer = site.visit(back)

    assert error_of(answer) in map(logged_out, reasons)
    assert set(links(site).values()) <= {None}


def test_a_token_that_expires_meanwhile_links_nothing(site, ann):
    payload = jwt.decode(ann[1], options={"verify_signature": False})
    expires = int(time.time()) + 2
    token = jwt.encode({**payload, "exp": expires}, SECRET, headers={"typ": "access"})
    back = site.authorize(site.connect(token))
    wait_until(lambda: time.time() >= expires)

    answer = site.visit(back)

    assert answer_of(answer) == (HOME, {"error": logged_out("jwt expired")})
    assert set(links(site).values()) == {None}


# The token


def test_other_parameters_are_those_of_a_login(site, ann, records):
    queries = []
    records["authentication"].before("create")(
        lambda method, context: queries.append(context.params.query)
    )

    answer = site.link(ann[1], "&lang=de&redirect=/page")

    assert (answer_of(answer)[0], queries[-1]) == (f"{HOME}/page", {"lang": "de"})


@pytest.mark.parametrize("origin", ["cross-site", "same-site", "none", "", None, "x"])
@pytest.mark.parametrize("referer", [None, HOME, "https://evil.example/"])
def test_token_is_refused_from_other_pages(site, ann, origin, referer):
    headers = {"Sec-Fetch-Site": origin, "Referer": referer}

    answer = site.start(f"?feathers_token={ann[1]}", headers=headers)

    assert answer_of(answer) == (HOME, {"error": OTHER_PAGE})
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("", logged_out("jwt malformed")),
        ("nonsense", logged_out("jwt malformed")),
        (signed(exp=1), logged_out("jwt expired")),
        (signed(key="t" * 32), logged_out("invalid signature")),
        (
            signed(aud="elsewhere", exp=2**40),
            logged_out("jwt audience invalid. expected: https://yourdomain.com"),
        ),
        (signed(sub="99", exp=2**40), logged_out("The user of the token is gone")),
    ],
)
def test_a_token_that_is_not_valid_links_nothing(site, token, message):
    answer = site.connect(token)

    assert answer_of(answer)[0] == HOME
    assert error_of(answer) == message
    assert "Set-Cookie" not in answer.headers
