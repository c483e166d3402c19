"""The state of a login between its start and its callback."""

from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from tests.http.oauth.messages import DENIED, INVALID, LOST
from tests.oauth_providers import (
    answer_of,
    as_json,
    error_of,
    HOME,
    serving_logins,
    Site,
)


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


def test_tabs_do_not_disturb_each_other(site):
    starts = [site.start(f"?redirect=/{number}") for number in range(3)]
    addresses = [site.authorize(started) for started in starts]

    answers = [site.visit(address) for address in reversed(addresses)]

    assert [answer_of(answer)[0] for answer in answers] == [
        f"{HOME}/{number}" for number in (2, 1, 0)
    ]
    assert [error_of(answer) for answer in answers] == [None] * 3
    assert len(site.users()) == 1


def test_a_browser_that_abandons_logins_keeps_three(site):
    starts = [site.start() for _ in range(40)]
    addresses = [site.authorize(started) for started in starts]

    errors = [error_of(site.visit(address)) for address in addresses]

    assert errors == [LOST] * 37 + [None] * 3
    assert len(starts[-1].headers["Set-Cookie"]) < 4093


@pytest.mark.parametrize(("age", "error"), [(590, None), (610, LOST)])
def test_a_login_has_ten_minutes(site, age, error):
    address = site.authorize(site.start())

    with site.client.session_transaction() as kept:
        for name in kept:
            if name.startswith("_state_"):
                kept[name]["exp"] -= age
                kept.modified = True

    assert error_of(site.visit(address)) == error


@pytest.mark.parametrize("query", ["redirect=/{}", "note={}"])
def test_what_is_kept_fits_a_cookie(site, query):
    """A browser drops what is larger, and the login would be lost at its end."""
    noise = "".join(f"{number:x}" for number in range(0, 400_000, 333))

    started = site.start("?" + query.format(noise))

    assert error_of(started) == "The query of the login is too long."
    assert "Set-Cookie" not in started.headers


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("error=access_denied", DENIED),
        ("error=access_denied&code=c", DENIED),
        ("error=user_cancelled_login", DENIED),
        ("error=%3Cscript%3E&error_description=%3Cscript%3Ealert(1)", INVALID),
        ("", INVALID),
    ],
)
def test_an_answer_without_a_code_is_told_in_our_words(site, query, message):
    state = query_of(site.start().headers["Location"])["state"]

    answer = site.get(f"/oauth/fake/callback?{query}&state={state}")

    assert answer_of(answer) == (HOME, {"error": message})
    assert "alert" not in answer.text + str(answer.headers)


def test_a_form_of_another_site_brings_the_answer(provider):
    """No cookie comes with the form, which Apple lets a browser post."""
    provider.options = {"params": {"response_mode": "form_post"}}

    with serving_logins({"fake": provider}) as site:
        url, _, query = site.authorize(site.start()).partition("?")
        posted = Site(site.app).client.post(url, data=parse_qs(query))
        answer = site.follow(posted)
        lost = site.follow(site.client.post(url, json={"state": "x"}))

    assert (posted.status_code, "Set-Cookie" in posted.headers) == (303, False)
    assert (error_of(answer), error_of(lost)) == (None, LOST)
