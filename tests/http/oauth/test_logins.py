"""Logins at a provider."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl
from urllib.parse import urlsplit

import jwt
import pytest

from flask_records import Forbidden
from tests.http.oauth.sites import other as other
from tests.http.oauth.sites import records as records
from tests.http.oauth.sites import site as site
from tests.oauth_providers import ADA
from tests.oauth_providers import ADA_USER
from tests.oauth_providers import answer_of
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import KEY
from tests.oauth_providers import serving_logins
from tests.oauth_providers import token_of


def test_login_makes_a_user_of_the_profile(site):
    answer = site.log_in()

    assert site.users() == [ADA_USER]
    assert site.caller(token_of(answer)) == ADA_USER


def test_login_ends_at_the_redirect_with_nothing_but_a_token(site):
    answer = site.log_in()

    target, said = answer_of(answer)
    assert (answer.status_code, target, list(said)) == (302, HOME, ["access_token"])
    assert answer.text == ""


def test_provider_is_asked_with_state_and_pkce(site, provider):
    started = site.start()

    url, _, query = started.headers["Location"].partition("?")
    asked = dict(parse_qsl(query))
    assert re.fullmatch("[A-Za-z0-9_-]{20,}", asked.pop("state"))
    assert re.fullmatch("[A-Za-z0-9_-]{43}", asked.pop("code_challenge"))
    assert (url, asked) == (
        f"{provider.url}/authorize",
        {
            "response_type": "code",
            "client_id": KEY,
            "redirect_uri": f"{site.url}/oauth/fake/callback",
            "scope": "profile email",
            "code_challenge_method": "S256",
        },
    )


def test_no_two_logins_have_a_state_or_a_challenge_in_common(site):
    queries = [urlsplit(site.start().headers["Location"]).query for _ in range(2)]

    one, two = (dict(parse_qsl(query)) for query in queries)
    assert one["state"] != two["state"]
    assert one["code_challenge"] != two["code_challenge"]


def test_params_of_the_settings_are_sent_to_the_provider(provider):
    provider.options = {"params": {"prompt": "select_account"}}

    with serving_logins({"fake": provider}) as site:
        started = site.start()

    assert "&prompt=select_account" in started.headers["Location"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_secret_is_sent_as_the_settings_say(provider, method):
    sent = []
    provider.options = {"token_endpoint_auth_method": method}
    provider.answers["token"] = lambda request: (
        sent.append((request.authorization is None, "client_secret" in request.form))
        or provider.token(request)
    )

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert error_of(answer) is None
    assert sent == [(method == "client_secret_post",) * 2]


def test_second_login_finds_the_user_and_refreshes_name_and_avatar(site, provider):
    site.log_in()
    changed = {"name": "Ada King", "avatar_url": "https://img.example/new.png"}
    provider.claims = {**ADA, **changed, "email": "countess@example.com"}

    answer = site.log_in()

    user = {**ADA_USER, "name": "Ada King", "avatar": "https://img.example/new.png"}
    assert site.users() == [user]
    assert site.caller(token_of(answer)) == user


def test_what_the_provider_tells_no_more_stays(site, provider):
    site.log_in()
    provider.claims = {"id": "p-1001"}

    site.log_in()

    assert site.users() == [ADA_USER]


def test_profiles_of_two_providers_are_two_users(provider, other):
    with serving_logins({"fake": provider, "other": other}) as site:
        other.claims = {"id": ADA["id"]}

        answers = [site.log_in(provider=name) for name in ("fake", "other")]

        callers = [site.caller(token_of(answer)) for answer in answers]
        assert [user["fakeId"] for user in callers] == ["p-1001", None]
        assert [user["otherId"] for user in callers] == [None, "p-1001"]


def test_hooks_of_users_run(site, records):
    seen = []

    @records["users"].before("create", "patch")
    def shout(method, context):
        seen.append((method, context.params.provider))
        context.data["name"] = context.data["name"].upper()

    site.log_in()
    site.log_in()

    assert seen == [("create", None), ("patch", None)]
    assert site.users() == [{**ADA_USER, "name": "ADA LOVELACE"}]


def test_user_and_login_are_events(site, records):
    heard = []
    records.events()(lambda event, record, context: heard.append((event, record)))

    token = token_of(site.log_in())

    payload = jwt.decode(token, options={"verify_signature": False})
    known = {"strategy": "fake", "payload": payload}
    login = {"authentication": known, "user": ADA_USER}
    assert heard == [("created", ADA_USER), ("login", login)]


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


def test_a_login_that_is_refused_makes_no_user(site, records):
    @records["authentication"].after("create")
    def refuse(method, context):
        raise Forbidden("By invitation only.")

    site.log_in()

    assert site.users() == []


def test_other_parameters_reach_hooks_and_no_url(site, records):
    queries = []
    records["authentication"].before("create")(
        lambda method, context: queries.append((context.data, context.params.query))
    )

    started = site.start("?invitation=i-42&redirect=/page&lang=de")
    back = site.follow(started)
    end = site.follow(back)

    assert queries == [({"strategy": "fake"}, {"invitation": "i-42", "lang": "de"})]
    assert not re.search("i-42|page", started.headers["Location"])
    assert not re.search("i-42|page", back.headers["Location"])
    assert answer_of(end)[0] == f"{HOME}/page"
    assert "i-42" not in end.headers["Location"]


def test_another_site_may_begin_a_login(site):
    answer = site.log_in(headers={"Sec-Fetch-Site": "cross-site"})

    assert error_of(answer) is None
