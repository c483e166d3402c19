"""The state of a login between its start and its callback."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from tests.http.oauth.messages import AGAIN, DENIED, INVALID, LOST
from tests.oauth_providers import (
    ADA_USER,
    answer_of,
    as_json,
    error_of,
    HOME,
    serving_logins,
    Site,
)

FORM_POST = {"params": {"response_mode": "form_post"}}


def query_of(address):
    return dict(parse_qsl(urlsplit(address).query))


def test_state_that_is_wrong_or_missing_is_no_login_and_spends_no_other(site):
    address = site.authorize(site.start())
    code = query_of(address)["code"]

    answers = [
        site.get(f"/oauth/fake/callback?code={code}{state}")
        for state in ("", "&state=", "&state=x", "&state=%00%FF", "&state=a&state=b")
    ]

    assert [answer_of(answer) for answer in answers] == [(HOME, {"error": LOST})] * 5
    assert error_of(site.visit(address)) is None


def test_callback_in_another_browser_is_no_login(site):
    address = site.authorize(site.start())

    answer = Site(site.app).visit(address)

    assert answer_of(answer) == (HOME, {"error": LOST})


@pytest.mark.parametrize("spent_on", ["success", "error", "denial"])
def test_state_is_good_for_one_answer(site, provider, spent_on):
    started = site.start()
    address = site.authorize(started)

    if spent_on == "error":
        provider.answers["profile"] = as_json([])
    elif spent_on == "denial":
        address = address.replace("code=", "error=")

    site.visit(address)
    provider.answers.clear()

    # The provider gives another code.
    answer = site.visit(site.authorize(started))

    assert answer_of(answer) == (HOME, {"error": LOST})


def test_code_is_good_for_the_login_that_it_was_given_for(site):
    one, two, three = (query_of(site.authorize(site.start())) for _ in range(3))
    used = f"/oauth/fake/callback?code={one['code']}&state="
    site.get(used + one["state"])

    answers = [
        site.get(used + two["state"]),
        site.get(f"/oauth/fake/callback?code={two['code']}&state={three['state']}"),
    ]

    assert [answer_of(answer) for answer in answers] == [(HOME, {"error": AGAIN})] * 2


def test_state_of_another_provider_is_no_login(provider, other):
    with serving_logins({"fake": provider, "other": other}) as site:
        address = site.authorize(site.start()).replace("/fake/", "/other/")

        assert answer_of(site.visit(address)) == (HOME, {"error": LOST})


def test_tabs_do_not_disturb_each_other(site):
    starts = [site.start(f"?redirect=/{number}") for number in range(3)]
    addresses = [site.authorize(started) for started in starts]

    answers = [site.visit(address) for address in reversed(addresses)]

    assert [answer_of(answer)[0] for answer in answers] == [
        f"{HOME}/{number}" for number in (2, 1, 0)
    ]
    assert [error_of(answer) for answer in answers] == [None] * 3
    assert len(site.users()) == 1


def test_a_browser_that_abandons_logins_keeps_the_last_five(site):
    addresses = [site.authorize(site.start()) for _ in range(40)]

    errors = [error_of(site.visit(address)) for address in addresses[-6:]]

    assert errors == [LOST] + [None] * 5


@pytest.mark.parametrize(("age", "error"), [(590, None), (610, LOST), (-610, LOST)])
def test_a_login_has_ten_minutes(site, age, error):
    address = site.authorize(site.start())

    with site.client.session_transaction() as kept:
        for name in kept:
            if name.startswith("_state_"):
                kept[name]["data"]["began"] -= age
                kept.modified = True

    assert error_of(site.visit(address)) == error


@pytest.mark.parametrize("query", ["redirect=/{}", "note={}"])
def test_what_is_kept_fits_a_cookie(site, query):
    """A browser drops what is larger, and the login would be lost at its end."""
    noise = "".join(f"{number:x}" for number in range(0, 400_000, 333))

    started = site.start("?" + query.format(noise))

    assert started.status_code < 500
    assert len(started.headers.get("Set-Cookie", "")) <= 4093


def test_large_logins_leave_room_for_fewer(site):
    noise = "".join(f"{number:x}" for number in range(0, 100_000, 333))[:1400]
    started = [site.start(f"?note={number}{noise}") for number in range(5)]

    answers = [site.visit(site.authorize(each)) for each in (started[0], started[-1])]

    assert {len(each.headers["Set-Cookie"]) < 4093 for each in started} == {True}
    assert [error_of(answer) for answer in answers] == [LOST, None]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("error=access_denied", DENIED),
        ("error=access_denied&code=c", DENIED),
        ("error=user_cancelled_login", DENIED),
        ("error=%3Cscript%3E&error_description=%3Cscript%3Ealert(1)", INVALID),
        ("error=&error_description=", INVALID),
        ("", INVALID),
    ],
)
def test_an_answer_without_a_code_is_told_in_our_words(site, query, message):
    state = query_of(site.start().headers["Location"])["state"]

    answer = site.get(f"/oauth/fake/callback?{query}&state={state}")

    assert answer_of(answer) == (HOME, {"error": message})
    assert "alert" not in answer.text + str(answer.headers)


# Answers that a browser posts, as Apple lets it do


@pytest.fixture
def post_site(provider):
    provider.options = FORM_POST
    provider.claims = {"id": "1"}

    with serving_logins({"fake": provider}) as site:
        yield site


def post_back(site, **more):
    """Return the end of a login whose provider lets another site post the answer."""
    url, _, query = site.authorize(site.start()).partition("?")
    data = {**parse_qs(query), **more}
    headers = {"Origin": "https://provider.example"}
    answer = site.client.post(url, data=data, headers=headers)
    assert answer.status_code == 303
    assert "Set-Cookie" not in answer.headers
    return site.follow(answer)


def test_a_form_of_another_site_brings_the_answer_and_maybe_the_name(post_site):
    name = {"firstName": "Ada", "lastName": "Lovelace"}
    user = json.dumps({"name": name, "email": "x@y.zz"})

    answers = [post_back(post_site, user=user), post_back(post_site)]

    assert [error_of(answer) for answer in answers] == [None, None]
    found = [(user["name"], user["email"]) for user in post_site.users()]
    assert found == [("Ada Lovelace", None)]


@pytest.mark.parametrize(
    "user",
    ["ada", "[]", "null", '{"name": "Ada"}', '{"name":' * 700, "[" * 1400],
    ids=lambda user: user[:10],
)
def test_a_name_that_makes_no_sense_keeps_nobody_out(post_site, user):
    assert error_of(post_back(post_site, user=user)) is None


def test_what_an_answer_says_besides_is_ignored(site):
    address = site.authorize(site.start())

    answer = site.visit(address + '&user={"name":{"firstName":"Eve"}}&iss=x&scope=y')

    assert error_of(answer) is None
    assert site.users() == [ADA_USER]


def test_a_form_without_a_state_is_no_login(post_site):
    answer = post_site.client.post("/oauth/fake/callback", data={"state": "x"})

    assert answer_of(post_site.follow(answer)) == (HOME, {"error": LOST})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"data": {"state": "x", "code": "c" * 2**16}}, 413),
        ({"data": {"state": "x", "code": "c" * 2**20}}, 413),
        ({"json": {"state": "x"}}, 400),
        ({"data": {"state": "x", "code": "c" * 60_000}}, 303),
    ],
    ids=["64 kB", "1 MB", "JSON", "less"],
)
def test_an_answer_is_a_form_of_64_kb_at_most(post_site, body, status):
    answer = post_site.client.post("/oauth/fake/callback", **body)

    assert answer.status_code == status
    assert len(answer.headers.get("Location", "")) < 4000


def test_a_provider_that_does_not_post_gets_no_body_read(site):
    answer = site.client.post("/oauth/fake/callback", data={"state": "x"})

    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
    assert answer.json["message"] == "Fake does not answer by POST."
