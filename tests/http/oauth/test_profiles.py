"""Profiles of a provider become users."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import requests

from flask_records import BadRequest
from tests.http.oauth.sites import EMAIL_TAKEN
from tests.http.oauth.sites import INVALID
from tests.http.oauth.sites import records as records
from tests.http.oauth.sites import site as site
from tests.oauth_providers import ADA
from tests.oauth_providers import ADA_USER
from tests.oauth_providers import answer_of
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import LooseMember
from tests.oauth_providers import make_members
from tests.oauth_providers import Member
from tests.oauth_providers import serving_logins
from tests.oauth_providers import Site
from tests.oauth_providers import StrictMember
from tests.oauth_providers import token_of


@pytest.mark.parametrize(
    ("id", "kept"), [("7", "7"), (7, "7"), (10**30, "1" + "0" * 30), ("é😀", "é😀")]
)
def test_id_is_text_or_a_whole_number(site, provider, id, kept):
    provider.claims = {"id": id}

    site.log_in()

    assert [user["fakeId"] for user in site.users()] == [kept]


@pytest.mark.parametrize(
    "profile",
    [
        {},
        *({"id": id} for id in (None, "", [], ["x"], {}, {"a": 1}, True, 1.5)),
        *({"id": id} for id in (" ", "\n", "\u00a0", "\u200b", "alice ", "\talice")),
    ],
    ids=ascii,
)
def test_profile_without_an_id_is_nobody(site, provider, profile):
    provider.claims = profile

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})
    assert site.users() == []


@pytest.mark.parametrize(
    "profile",
    [
        {"id": "\ud800"},
        {"id": "a\x00b"},
        {"id": "x" * 1_000_000},
        {"id": "1", "email": "e" * 1_000_000},
        {"id": "1", "email": "\ud800@example.com"},
        {"id": "1", "email": "a\x00@example.com"},
        {"id": "1", "name": "a\x00b", "avatar_url": "https://img.example/\x00"},
        {"id": "1", "bio": "b" * 5_000_000},
    ],
    ids=lambda profile: json.dumps(profile)[:40],
)
def test_no_profile_is_an_error_of_the_server(database_url, provider, profile):
    provider.claims = profile

    with serving_logins({"fake": provider}, url=database_url) as site:
        answer = site.log_in()

    assert (answer.status_code, answer_of(answer)[0]) == (302, HOME)


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        ("name", "n" * 51, None),
        ("name", "n" * 1_000_000, None),
        ("name", "\ud800", None),
        ("name", "Ada\nLovelace", None),
        ("name", "Ada\x00", None),
        ("name", "Ada\u2028", None),
        ("name", " ", None),
        ("name", 1815, None),
        ("name", ["Ada"], None),
        ("name", "\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("avatar_url", "https://img.example/" + "a" * 200, None),
        ("avatar_url", "https://img.example/" + "a" * 1_000_000, None),
        ("avatar_url", "https://img.example/\ud800", None),
        ("avatar_url", "https://img.example/ x", None),
        ("avatar_url", 'https://img.example/"onload="x', None),
        ("avatar_url", "data:image/png;base64,AAAA", None),
        ("avatar_url", "javascript:alert(1)", None),
        ("avatar_url", "blob:https://img.example/1", None),
        ("avatar_url", "/images/1.png", None),
        ("avatar_url", "https://user:secret@img.example/", None),
        ("avatar_url", "https:///img", None),
        ("avatar_url", {"url": "https://img.example"}, None),
        ("avatar_url", "//img.example/1.png", "https://img.example/1.png"),
        ("avatar_url", "HTTPS://img.example/1.png", "https://img.example/1.png"),
        ("avatar_url", "http://img.example/1?s=9", "http://img.example/1?s=9"),
        ("email", "a" * 100 + "@example.com", None),
        ("email", "a@" + "e" * 95 + ".example", None),
        ("email", "no address", None),
        ("email", "a@b@example.com", None),
        ("email", "a\uff20b@example.com", None),
        ("email", "\ud800@example.com", None),
        ("email", 7, None),
        ("email", "Ada@Example.COM", "Ada@Example.COM"),
    ],
    ids=lambda value: ascii(value)[:50],
)
def test_an_optional_field_that_is_not_valid_keeps_nobody_out(
    site, provider, field, value, stored
):
    provider.claims = {"id": "1", field: value}

    answer = site.log_in()
    again = site.log_in()

    assert [error_of(answer), error_of(again)] == [None, None]
    name = {"avatar_url": "avatar"}.get(field, field)
    assert [user[name] for user in site.users()] == [stored]


def test_an_email_is_stored_in_the_form_that_logins_look_up(provider):
    provider.claims = {**ADA, "email": "Ada@Example.COM"}
    records = make_members(normalize=str.lower)

    with serving_logins({"fake": provider}, records=records) as site:
        site.log_in()
        users = site.users()
        provider.claims = {"id": "2", "email": "ADA@example.com"}
        answer = site.log_in()

    assert [user["email"] for user in users] == ["ada@example.com"]
    assert error_of(answer) == EMAIL_TAKEN


def refuse(*fields):
    def hook(method, context):
        refused = {name: "is refused" for name in fields if name in context.data}

        if refused:
            raise BadRequest("No", errors=refused)

    return hook


@pytest.mark.parametrize(
    ("fields", "left"), [(["name"], {"name"}), (["name", "avatar"], {"name", "avatar"})]
)
def test_a_name_or_an_image_that_a_hook_refuses_keeps_nobody_out(
    site, records, fields, left
):
    records["users"].before("create", "patch")(refuse(*fields))

    answers = [site.log_in(), site.log_in()]

    assert [error_of(answer) for answer in answers] == [None, None]
    assert site.users() == [{**ADA_USER, **dict.fromkeys(left)}]


@pytest.mark.parametrize("fields", [["email"], ["email", "name"], ["fakeId"]])
def test_a_user_whom_a_hook_refuses_stays_out(site, records, fields):
    """A hook may let in the emails of one company only."""
    records["users"].before("create")(refuse(*fields))

    assert error_of(site.log_in()) == "No"
    assert site.users() == []


def test_an_id_that_does_not_fit_is_an_error(site, provider):
    """Nobody would be found by it again."""
    provider.claims = {"id": "x" * 51}
    id, token = site.register(email="ann@example.com")
    before = site.users()

    answers = [site.log_in(), site.link(token)]

    assert all(error_of(answer) for answer in answers)
    assert site.users() == before


@pytest.mark.parametrize("value", [None, 1, True, [], {}, ""], ids=repr)
def test_what_is_not_text_is_left_out(site, provider, value):
    provider.claims = {"id": "1", "name": value, "email": value, "avatar_url": value}

    site.log_in()

    left = {"name": None, "email": None, "avatar": None, "fakeId": "1"}
    assert site.users() == [{**ADA_USER, **left}]


@pytest.mark.parametrize("said", [False, "false", None, 0, "", "yes"], ids=repr)
def test_email_that_is_not_verified_is_left_out(site, provider, said):
    provider.claims = {**ADA, "email_verified": said}

    site.log_in()

    assert site.users() == [{**ADA_USER, "email": None}]


def test_users_without_an_email_are_no_conflict(site, provider):
    for id in ("1", "2"):
        provider.claims = {"id": id}
        site.log_in()

    assert [user["email"] for user in site.users()] == [None, None]


def test_profile_without_a_field_that_users_need_is_an_error(provider):
    provider.claims = {"id": "1"}

    with serving_logins({"fake": provider}, records=make_members(StrictMember)) as site:
        answer = site.log_in()

        assert "email" in error_of(answer)
        assert site.users() == []


@pytest.mark.parametrize("model", [Member, LooseMember])
@pytest.mark.parametrize(
    "ids", [("abc", "abc "), ("abc", "ABC"), ("e", "é"), ("ss", "ß")]
)
def test_profiles_with_ids_that_differ_are_never_one_user(
    database_url, provider, model, ids
):
    records = make_members(model)
    options = {"records": records, "url": database_url}

    with serving_logins({"fake": provider}, **options) as site:
        provider.claims = {"id": ids[0]}
        first = site.caller(token_of(site.log_in()))
        provider.claims = {"id": ids[1]}
        answer = site.log_in()

        assert error_of(answer) or site.caller(token_of(answer))["id"] != first["id"]
        assert site.users()[0]["fakeId"] == ids[0]


def test_two_first_logins_at_once_are_one_user(database_url, provider):
    count = 4
    barrier = Barrier(count)

    def log_in(site):
        with requests.Session() as browser:
            own = Site(site.app, site.url, browser)
            address = own.authorize(own.start())
            barrier.wait(10)
            return own.visit(address)

    with serving_logins({"fake": provider}, url=database_url) as site:
        with ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(log_in, [site] * count))

        callers = [site.caller(token_of(answer)) for answer in answers]
        assert callers == site.users() * count
        assert len(site.users()) == 1
