"""A user who is logged in connects a login at a provider."""

from __future__ import annotations

import time
from http.cookies import SimpleCookie
from urllib.parse import parse_qs

import jwt
import pytest
import requests
from itsdangerous import TimestampSigner
from itsdangerous import URLSafeTimedSerializer
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_records import NotAuthenticated
from flask_records import Strategy
from flask_records import TableRevocations

from .authentication import API_KEY
from .authentication import bearer
from .authentication import SECRET
from .authentication import signed
from .conftest import running
from .oauth_providers import ADA
from .oauth_providers import ADA_USER
from .oauth_providers import answer_of
from .oauth_providers import error_of
from .oauth_providers import HOME
from .oauth_providers import make_members
from .oauth_providers import OpenIDProvider
from .oauth_providers import RevokedToken
from .oauth_providers import serving_logins
from .oauth_providers import Site
from .oauth_providers import StrictMember
from .oauth_providers import token_of
from .oauth_sites import EMAIL_TAKEN
from .waiting import wait_until

PROFILE_TAKEN = "This Fake login belongs to another user."
USED_UP = (
    "This address to connect a login was used, is too old, or is for another browser."
    " Try again."
)
OTHER_PAGE = (
    "'feathers_token' is accepted from pages of the same origin only. Send the token to"
    " POST /oauth/fake, which returns an address to open."
)

OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}


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


def address_of(answer):
    """Return the one-time address of an answer."""
    assert answer.status_code == 201, answer.text
    return answer.json()["url"]


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


# One-time addresses


def test_address_and_cookie_are_told_to_the_caller_alone(site, ann):
    answer = site.connect(ann[1])

    url, _, query = address_of(answer).partition("?")
    cookie = SimpleCookie(answer.headers["Set-Cookie"])["records_connect"]
    assert (url, list(parse_qs(query))) == (f"{site.url}/oauth/fake", ["connect_code"])
    assert (cookie["path"], cookie["samesite"]) == ("/oauth/fake", "Lax")
    assert (cookie["max-age"], cookie["httponly"]) == ("60", True)
    assert answer.headers["Cache-Control"] == "no-store"
    assert ann[1] not in answer.text + answer.headers["Set-Cookie"]


def test_address_of_https_has_a_secure_cookie(provider):
    oauth = {"redirect": HOME, "base_url": "https://app.example/sub"}

    with serving_logins({"fake": provider}, oauth) as site:
        answer = site.connect(site.register(email="ann@example.com")[1])

    assert address_of(answer).startswith("https://app.example/sub/oauth/fake?")
    assert {"Secure", "Path=/sub/oauth/fake"} <= set(
        answer.headers["Set-Cookie"].split("; ")
    )


def test_address_behind_a_proxy_is_that_of_the_proxy(provider):
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "app.example"}

    with serving_logins(
        {"fake": provider}, wrap=lambda app: ProxyFix(app, x_proto=1, x_host=1)
    ) as site:
        token = site.register(email="ann@example.com")[1]
        headers = {**bearer(token), **forwarded}
        answer = site.browser.post(f"{site.url}/oauth/fake", headers=headers)

    assert address_of(answer).startswith("https://app.example/oauth/fake?")


def test_address_in_another_browser_links_nothing(site, ann):
    """It leaked, or another site has sent a visitor to it."""
    address = address_of(site.connect(ann[1]))

    with requests.Session() as browser:
        answer = Site(site.app, site.url, browser).visit(address)

    assert answer_of(answer) == (HOME, {"error": USED_UP})
    assert "Set-Cookie" not in answer.headers


def test_address_of_somebody_else_links_nothing(site, ann):
    """A visitor who has asked for an address is sent to that of an attacker."""
    id, token = ann

    with requests.Session() as browser:
        eve = Site(site.app, site.url, browser)
        address = address_of(eve.connect(eve.register(email="eve@example.com")[1]))

    site.connect(token)
    answer = site.visit(address)

    assert error_of(answer) == USED_UP
    assert set(links(site).values()) == {None}


def test_address_works_once(site, ann):
    address = address_of(site.connect(ann[1]))
    first = site.visit(address)

    answer = site.visit(address)

    assert error_of(first) is None
    assert answer_of(answer) == (HOME, {"error": USED_UP})


@pytest.mark.parametrize("code", ["", "x", "é", "%00", "a" * 500])
def test_another_code_links_nothing(site, ann, code):
    site.connect(ann[1])

    answer = site.start(f"?connect_code={code}")

    assert answer_of(answer) == (HOME, {"error": USED_UP})


def test_address_is_for_one_provider(provider):
    with (
        running(other := OpenIDProvider()) as other.url,
        serving_logins({"fake": provider, "other": other}) as site,
    ):
        answer = site.connect(site.register(email="ann@example.com")[1])
        address = address_of(answer).replace("/fake", "/other")
        cookie = answer.headers["Set-Cookie"].split(";")[0]
        started = site.visit(address, headers={"Cookie": cookie})

    assert error_of(started) == USED_UP


class OldSigner(TimestampSigner):
    """Signs as of some seconds ago."""

    age = 0

    def get_timestamp(self):
        return int(time.time()) - self.age


@pytest.mark.parametrize(("age", "error"), [(50, None), (65, USED_UP), (-3, None)])
def test_address_has_a_minute(site, ann, monkeypatch, age, error):
    answer = site.connect(ann[1])
    name, _, value = answer.headers["Set-Cookie"].split(";")[0].partition("=")
    serializer = URLSafeTimedSerializer(
        SECRET, salt="flask-records oauth connect", signer=OldSigner
    )
    kept = serializer.loads(value)
    monkeypatch.setattr(OldSigner, "age", age)
    cookie = f"{name}={serializer.dumps(kept)}"

    started = site.visit(address_of(answer), headers={"Cookie": cookie})

    assert error_of(started) == error


def test_cookie_of_a_login_is_none_of_an_address(site, ann):
    started = site.start("?connect_code=")
    login = site.start().headers["Set-Cookie"].split(";")[0].partition("=")[2]
    cookie = f"records_connect={login}"

    answer = site.start("?connect_code=x", headers={"Cookie": cookie})

    assert [error_of(one) for one in (started, answer)] == [USED_UP] * 2


def test_a_cookie_alone_links_nothing(site, ann):
    id, token = ann
    address = address_of(site.connect(token))

    site.start()
    answer = site.log_in()

    assert site.caller(token_of(answer))["id"] != id
    assert error_of(site.visit(address)) is None


# Who gets an address


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "Not authenticated"),
        ({"Authorization": "Basic YTpi"}, "Not authenticated"),
        (bearer("nonsense"), logged_out("jwt malformed")),
        (bearer(signed(exp=1)), logged_out("jwt expired")),
        (bearer(signed(key="t" * 32)), logged_out("invalid signature")),
        (
            bearer(signed(sub="99", exp=2**40)),
            logged_out("The user of the token is gone"),
        ),
    ],
)
def test_without_a_valid_token_there_is_no_address(site, headers, message):
    answer = site.browser.post(f"{site.url}/oauth/fake", headers=headers)

    assert (answer.status_code, answer.json()["message"]) == (401, message)
    assert "Set-Cookie" not in answer.headers


def test_a_token_that_was_revoked_gets_no_address(site, ann):
    site.browser.delete(f"{site.url}/authentication", headers=bearer(ann[1]))

    answer = site.connect(ann[1])

    message = logged_out("jwt revoked")
    assert (answer.status_code, answer.json()["message"]) == (401, message)


def authenticate_by_card(service, data, params):
    if data["card"] != "card of user 1":
        raise NotAuthenticated("Invalid card")

    return {"user": service.get_user(1)}


def card_in(headers):
    card = headers.get("X-Card")
    return None if card is None else {"card": card}


CARD = Strategy(authenticate_by_card, card_in)


@pytest.mark.parametrize(
    ("strategies", "card", "status"),
    [
        (["jwt", "card"], "card of user 1", 201),
        (["jwt", "card"], "another", 401),
        (["jwt"], "card of user 1", 401),
    ],
)
def test_what_gets_a_token_gets_an_address(provider, strategies, card, status):
    records = make_members(strategies={"api-key": API_KEY, "card": CARD})
    settings = {"strategies": ["local", *strategies]}

    with serving_logins({"fake": provider}, records=records, settings=settings) as site:
        id, _ = site.register(email="ann@example.com")
        answer = site.browser.post(f"{site.url}/oauth/fake", headers={"X-Card": card})

        assert answer.status_code == status

        if status == 201:
            site.finish(site.visit(address_of(answer)))
            assert links(site) == {id: ADA["id"]}


def test_unknown_provider_has_no_address(site, ann):
    answer = site.connect(ann[1], "unknown")

    assert (answer.status_code, answer.json()["message"]) == (
        404,
        "There is no login with 'unknown'.",
    )


# The way back


def test_body_may_tell_where_to_go(site, ann):
    answer = site.link(ann[1], json={"redirect": "/page?a=b&c=ü"})

    assert answer_of(answer)[0] == f"{HOME}/page?a=b&c=%C3%BC"
    assert error_of(answer) is None


def test_address_takes_what_a_login_takes(site, ann, records):
    queries = []
    records["authentication"].before("create")(
        lambda method, context: queries.append(context.params.query)
    )
    address = address_of(site.connect(ann[1], json={}))

    answer = site.finish(site.visit(f"{address}&lang=de&redirect=/page"))

    assert (answer_of(answer)[0], queries[-1]) == (f"{HOME}/page", {"lang": "de"})


@pytest.mark.parametrize(
    "body",
    [
        *({"json": {"redirect": url}} for url in ("//evil.example", "/#x", "x", " ")),
        *({"json": {"redirect": url}} for url in ("/\ud800", "/\x00")),
        *({"json": {"redirect": value}} for value in (None, 1, ["/page"], {})),
        *({"json": value} for value in ({"x": 1}, [], [1], "x", 1)),
        {"json": {"redirect": "/page", "lang": "de"}},
        {"data": "redirect=/page"},
        {"data": b"{", "headers": {"Content-Type": "application/json"}},
        {"data": {"redirect": "/page"}},
        {"params": {"redirect": "/page"}},
    ],
    ids=ascii,
)
def test_body_that_is_not_understood_is_refused(site, ann, body):
    headers = {**body.pop("headers", {}), **bearer(ann[1])}

    answer = site.browser.post(f"{site.url}/oauth/fake", **body, headers=headers)

    assert answer.status_code == 400


@pytest.mark.parametrize("body", [{}, {"data": b""}, {"json": {}}], ids=str)
def test_a_body_is_not_needed(site, ann, body):
    headers = {**bearer(ann[1]), "Content-Type": "application/json"}

    answer = site.browser.post(f"{site.url}/oauth/fake", **body, headers=headers)

    assert answer.status_code == 201


def test_body_is_small(site, ann):
    answer = site.connect(ann[1], json={"redirect": "/" + "x" * 70_000})

    assert answer.status_code == 413


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
@pytest.mark.parametrize("by", ["address", "token"])
def test_a_token_that_ends_meanwhile_links_nothing(site, ann, by, end, reasons):
    id, token = ann
    address = f"{site.url}/oauth/fake?feathers_token={token}"

    if by == "address":
        address = address_of(site.connect(token))

    back = site.authorize(site.visit(address, headers=OWN_PAGE))
    end(site, id, token)

    answer = site.visit(back)

    assert error_of(answer) in map(logged_out, reasons)
    assert set(links(site).values()) <= {None}


def test_a_token_that_ends_between_address_and_start_links_nothing(site, ann):
    address = address_of(site.connect(ann[1]))
    log_out(site, *ann)

    answer = site.finish(site.visit(address))

    assert error_of(answer) == logged_out("jwt revoked")
    assert set(links(site).values()) == {None}


def test_a_token_that_expires_meanwhile_links_nothing(site, ann):
    payload = jwt.decode(ann[1], options={"verify_signature": False})
    expires = int(time.time()) + 2
    token = jwt.encode({**payload, "exp": expires}, SECRET, headers={"typ": "access"})
    back = site.authorize(site.visit(address_of(site.connect(token))))
    wait_until(lambda: time.time() >= expires)

    answer = site.visit(back)

    assert answer_of(answer) == (HOME, {"error": logged_out("jwt expired")})
    assert set(links(site).values()) == {None}


# The parameter of the official client


def test_token_in_the_address_links_from_an_own_page(site, ann):
    id, token = ann

    answer = site.log_in(f"?feathers_token={token}", headers=OWN_PAGE)

    assert site.caller(token_of(answer))["id"] == id
    assert links(site) == {id: ADA["id"]}


@pytest.mark.parametrize("origin", ["cross-site", "same-site", "none", "", None, "x"])
@pytest.mark.parametrize("referer", [None, HOME, "https://evil.example/"])
def test_token_in_the_address_is_refused_from_other_pages(site, ann, origin, referer):
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
def test_a_token_in_the_address_that_is_not_valid_links_nothing(site, token, message):
    answer = site.start(f"?feathers_token={token}", headers=OWN_PAGE)

    assert answer_of(answer)[0] == HOME
    assert error_of(answer) == message
    assert "Set-Cookie" not in answer.headers
