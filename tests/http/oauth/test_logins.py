"""Logins at a provider, and the users that they make."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from urllib.parse import parse_qsl

import jwt
import pytest
from flask import session

from flask_records import Conflict, Forbidden, OAuthStrategy, TableTokens
from tests.authentication import API_KEY
from tests.http.oauth.messages import FAILED
from tests.oauth_providers import (
    ADA,
    ADA_USER,
    answer_of,
    as_json,
    CLIENT_SECRET,
    error_of,
    HOME,
    KEY,
    make_members,
    serving_logins,
    Site,
    Token,
    token_of,
)


def test_login_makes_a_user_of_the_profile_and_ends_with_a_token_alone(site):
    answer = site.log_in()

    target, said = answer_of(answer)
    assert (answer.status_code, target, list(said)) == (302, HOME, ["access_token"])
    assert answer.text == ""
    assert site.users() == [ADA_USER]
    assert site.caller(token_of(answer)) == ADA_USER


def test_provider_is_asked_with_state_and_pkce_that_no_other_login_has(provider):
    provider.options = {"params": {"prompt": "select_account"}}

    with serving_logins({"fake": provider}) as site:
        locations = [site.start().headers["Location"] for _ in range(2)]

    asked = [dict(parse_qsl(location.partition("?")[2])) for location in locations]
    for name, form in [
        ("state", "[A-Za-z0-9_-]{20,}"),
        ("code_challenge", "[\\w-]{43}"),
    ]:
        one, two = asked[0].pop(name), asked[1].pop(name)
        assert one != two
        assert re.fullmatch(form, one)

    assert asked[0] == {
        "response_type": "code",
        "client_id": KEY,
        "redirect_uri": f"{site.url}/oauth/fake/callback",
        "scope": "profile email",
        "code_challenge_method": "S256",
        "prompt": "select_account",
    }


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_secret_is_sent_to_the_token_endpoint_alone(provider, method):
    sent = []
    provider.options = {"token_endpoint_auth_method": method}
    provider.answers["token"] = lambda request: (
        sent.append((request.authorization is None, "client_secret" in request.form))
        or provider.token(request)
    )

    with serving_logins({"fake": provider}) as site:
        started = site.start()
        back = site.follow(started)
        end = site.follow(back)

    seen = [*started.headers.values(), *back.headers.values(), *end.headers.values()]
    assert error_of(end) is None
    assert sent == [(method == "client_secret_post",) * 2]
    assert not re.search(f"{CLIENT_SECRET}|token-of-the-provider", " ".join(seen))


def test_second_login_finds_the_user_and_refreshes_name_and_avatar(site, provider):
    site.log_in()
    changed = {"name": "Ada King", "avatar_url": "https://img.example/new.png"}
    provider.claims = {**ADA, **changed, "email": "countess@example.com"}
    answer = site.log_in()
    user = {**ADA_USER, "name": "Ada King", "avatar": "https://img.example/new.png"}
    assert site.caller(token_of(answer)) == user

    provider.claims = {"id": "p-1001"}
    site.log_in()

    assert site.users() == [user]


def test_hooks_of_users_run_and_events_are_sent(site, records):
    seen, heard = [], []
    records.events()(lambda event, record, context: heard.append((event, record)))

    @records["users"].before("create", "patch")
    def shout(method, context):
        seen.append((method, context.params.provider))
        context.data["name"] = context.data["name"].upper()

    token = token_of(site.log_in())
    site.log_in()

    payload = jwt.decode(token, options={"verify_signature": False})
    known = {"strategy": "fake", "payload": payload}
    user = {**ADA_USER, "name": "ADA LOVELACE"}
    assert seen == [("create", None), ("patch", None)]
    assert heard[:2] == [
        ("created", user),
        ("login", {"authentication": known, "user": user}),
    ]


@pytest.mark.parametrize(
    ("path", "method"),
    [("users", "create"), ("users", "get"), ("authentication", "create")],
)
def test_a_hook_that_refuses_keeps_the_user_out(site, records, path, method):
    @records[path].after(method)
    def refuse(method, context):
        raise Forbidden("By invitation only.")

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": "By invitation only."})
    assert site.users() == []


@pytest.mark.parametrize("errors", [[{"path": "name"}], {"name": "is taken"}])
def test_conflict_of_a_hook_is_told_as_it_is(site, records, errors):
    @records["users"].before("create")
    def refuse(method, context):
        raise Conflict("The team is full.", errors=errors)

    assert error_of(site.log_in()) == "The team is full."


def test_other_parameters_reach_hooks_and_no_url(site, records):
    queries = []
    records["authentication"].before("create")(
        lambda method, context: queries.append((context.data, context.params.query))
    )

    started = site.start("?invitation=i-42&redirect=/page&lang=de")
    back = site.follow(started)
    end = site.follow(back)

    assert queries == [({"strategy": "fake"}, {"invitation": "i-42", "lang": "de"})]
    urls = [each.headers["Location"] for each in (started, back)]
    assert not re.search("i-42|page", " ".join(urls))
    assert answer_of(end)[0] == f"{HOME}/page"
    assert "i-42" not in end.headers["Location"]


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        *(("name", value, None) for value in ("n" * 51, "A\nL", " ", 1815)),
        ("avatar_url", "https://img.example/" + "a" * 200, None),
        ("avatar_url", "javascript:alert(1)", None),
        *(("email", value, None) for value in ("a" * 100 + "@x.yz", "a@b@x.yz", 7)),
        ("email", "Ada@Example.COM", "Ada@Example.COM"),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_an_optional_field_that_is_not_valid_keeps_nobody_out(
    site, provider, field, value, stored
):
    provider.claims = {"id": "1", field: value}

    answers = [site.log_in(), site.log_in()]

    assert [error_of(answer) for answer in answers] == [None, None]
    name = {"avatar_url": "avatar"}.get(field, field)
    assert [user[name] for user in site.users()] == [stored]


def test_email_is_stored_as_normalize_has_it(provider):
    provider.claims = {"id": "1", "email": "Ada@Example.COM"}
    records = make_members(normalize=str.lower)

    with serving_logins({"fake": provider}, records=records) as site:
        site.log_in()

        assert [user["email"] for user in site.users()] == ["ada@example.com"]


@pytest.mark.parametrize("ids", [("abc", "abc "), ("abc", "ABC"), ("e", "é")])
def test_profiles_with_ids_that_differ_are_never_one_user(database_url, provider, ids):
    with serving_logins({"fake": provider}, url=database_url) as site:
        provider.claims = {"id": ids[0]}
        first = site.caller(token_of(site.log_in()))
        provider.claims = {"id": ids[1]}
        answer = site.log_in()

        assert error_of(answer) or site.caller(token_of(answer))["id"] != first["id"]
        assert site.users()[0]["fakeId"] == ids[0]


def test_two_first_logins_at_once_are_one_user(database_url, provider):
    barrier = Barrier(4)

    def log_in(app):
        own = Site(app)
        address = own.authorize(own.start())
        barrier.wait(10)
        return own.visit(address)

    with serving_logins({"fake": provider}, url=database_url) as site:
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(log_in, [site.app] * 4))

        callers = [site.caller(token_of(answer)) for answer in answers]
        assert callers == site.users() * 4


@pytest.mark.parametrize(
    ("emails", "kept"),
    [
        ([{"email": "ada@x.yz", "primary": True, "verified": True}], "ada@x.yz"),
        ([{"email": "ada@x.yz", "primary": True, "verified": False}], None),
        ([{"email": ["x"], "primary": True, "verified": True}], None),
        ({}, None),
    ],
    ids=str,
)
def test_emails_of_their_own_address_count_if_they_are_verified(provider, emails, kept):
    provider.options = {"emails_url": f"{provider.url}/emails"}
    provider.claims = {"id": "1"}
    provider.answers["emails"] = as_json(emails)

    with serving_logins({"fake": provider}) as site:
        assert error_of(site.log_in()) is None
        assert [user["email"] for user in site.users()] == [kept]


class Hidden(OAuthStrategy):
    """Changes the mapping, and misses what a profile may lack."""

    def profile(self, login):
        found = super().profile(login)
        return replace(found, email=None, name=login.raw["login"])

    def user_data(self, login, profile, user):
        data = super().user_data(login, profile, user)
        return {**data, "avatar": f"https://img.example/{login.provider.name}"}


def test_a_subclass_changes_the_mapping(provider):
    records = make_members(strategies={"api-key": API_KEY, "fake": Hidden()})

    with serving_logins({"fake": provider}, records=records) as site:
        failed = site.log_in()
        provider.claims = {**ADA, "login": "ada1815"}
        site.log_in()

        changed = {"name": "ada1815", "avatar": "https://img.example/fake"}
        assert answer_of(failed) == (HOME, {"error": FAILED})
        assert site.users() == [{**ADA_USER, **changed, "email": None}]


class Pages(OAuthStrategy):
    """Logs in to the session of pages that the server makes."""

    def success_url(self, target, result):
        session["email"] = result["user"]["email"]
        return target

    def failure_url(self, target, error):
        session["message"] = error.message
        return f"{target}/login"


def test_a_subclass_logs_in_to_a_session(provider):
    records = make_members(strategies={"api-key": API_KEY, "fake": Pages()})

    with serving_logins({"fake": provider}, records=records) as site:
        answer = site.visit(site.authorize(site.start("?redirect=/inbox")))
        lost = site.get("/oauth/fake/callback?state=unknown&code=1")

        with site.client.session_transaction() as kept:
            assert kept["email"] == ADA_USER["email"]
            assert "took too long" in kept["message"]

    assert answer.headers["Location"] == f"{HOME}/inbox"
    assert lost.headers["Location"] == f"{HOME}/login"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "Invalid authentication information (strategy not allowed in authStrat"),
        ({"strategies": ["jwt", "local", "fake"]}, "Log in at /oauth/fake."),
    ],
)
def test_no_client_can_claim_a_login_at_a_provider(provider, settings, message):
    records = make_members(strategies={"api-key": API_KEY, "fake": Hidden()})
    login = {"strategy": "fake", "oauth": {"raw": ADA}, "fakeId": "p-1001"}

    with serving_logins({"fake": provider}, records=records, settings=settings) as site:
        answer = site.client.post("/authentication", json=login)

    assert answer.status_code == 401
    assert answer.json["message"].startswith(message)


def test_login_at_a_provider_is_renewed_by_a_cookie(provider):
    records = make_members(tokens=TableTokens(Token), refresh="cookie")

    with serving_logins({"fake": provider}, records=records) as site:
        answer = site.log_in()
        renewed = site.client.post("/authentication", json={"strategy": "refresh"})

    assert list(answer_of(answer)[1]) == ["access_token"]
    assert (renewed.status_code, renewed.json["user"]) == (201, ADA_USER)
