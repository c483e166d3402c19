"""The OpenID Connect configuration of a provider."""

from __future__ import annotations

import logging

import pytest

from tests.http.oauth.openid import giving
from tests.http.oauth.openid import provider as provider
from tests.http.oauth.openid import site as site
from tests.http.oauth.sites import INVALID
from tests.http.oauth.sites import SILENT
from tests.listening import running
from tests.oauth_providers import ABSENT
from tests.oauth_providers import answer_of
from tests.oauth_providers import as_json
from tests.oauth_providers import CLIENT_SECRET
from tests.oauth_providers import error_of
from tests.oauth_providers import HOME
from tests.oauth_providers import moved
from tests.oauth_providers import OpenIDProvider
from tests.oauth_providers import serving_logins
from tests.oauth_providers import token_of

TENANT = "5f2c1a34-0000-4000-8000-9b8d7c6e5f4a"

MICROSOFT = "https://login.example/{}/v2.0"


@pytest.mark.parametrize(
    ("claims", "error"),
    [
        ({"iss": MICROSOFT.format(TENANT), "tid": TENANT}, None),
        ({"iss": MICROSOFT.format(TENANT), "tid": TENANT.upper()}, INVALID),
        ({"iss": MICROSOFT.format(TENANT), "tid": TENANT[::-1]}, INVALID),
        ({"iss": MICROSOFT.format(TENANT)}, INVALID),
        ({"iss": MICROSOFT.format("evil"), "tid": "evil"}, INVALID),
        ({"iss": MICROSOFT.format("{tenantid}"), "tid": "{tenantid}"}, INVALID),
        ({"iss": MICROSOFT.format("")}, INVALID),
        ({"iss": f"https://evil.example/{TENANT}/v2.0", "tid": TENANT}, INVALID),
    ],
)
def test_issuer_with_a_tenant_is_that_of_the_token(provider, claims, error):
    provider.metadata = {"issuer": MICROSOFT.format("{tenantid}")}
    provider.forged = claims

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert error_of(answer) == error


ISS = "authorization_response_iss_parameter_supported"


@pytest.mark.parametrize(
    ("listed", "said", "error"),
    [
        (True, "{url}", None),
        (True, None, INVALID),
        (True, "", INVALID),
        (True, "https://evil.example", INVALID),
        (True, "{url}/", INVALID),
        (True, "{url}.evil.example", INVALID),
        (ABSENT, "https://evil.example", INVALID),
        (False, "https://evil.example", INVALID),
        (ABSENT, "{url}", None),
        (ABSENT, None, None),
        (False, None, None),
        ("true", None, None),
    ],
)
def test_answer_names_the_issuer_that_was_asked(provider, listed, said, error):
    """Another provider would get the code otherwise, and could use it."""
    provider.metadata = {ISS: listed}
    asked = []
    provider.answers["token"] = lambda request: (
        asked.append(request.path) or provider.token(request)
    )
    params = {} if said is None else {"iss": said.format(url=provider.url)}

    with serving_logins({"fake": provider}) as site:
        answer = site.visit(site.authorize(site.start()), params=params)

    assert error_of(answer) == error
    assert len(asked) == (error is None)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (f"https://login.example/{TENANT}/v2.0", None),
        ("https://login.example/{tenantid}/v2.0", INVALID),
        ("https://login.example/evil/v2.0", INVALID),
        (f"https://login.example.evil.example/{TENANT}/v2.0", INVALID),
        (f"https://loginXexample/{TENANT}/v2.0", INVALID),
    ],
)
def test_issuer_of_an_answer_may_have_a_tenant(provider, said, error):
    provider.metadata = {"issuer": MICROSOFT.format("{tenantid}"), ISS: True}
    provider.forged = {"iss": MICROSOFT.format(TENANT), "tid": TENANT}

    with serving_logins({"fake": provider}) as site:
        answer = site.visit(site.authorize(site.start()), params={"iss": said})

    assert error_of(answer) == error


@pytest.mark.parametrize(
    "metadata",
    [
        *({"issuer": value} for value in (None, "", 1, [], {})),
        *({"authorization_endpoint": value} for value in (None, 1, [1], {"a": 1})),
        {"authorization_endpoint": "https://login.example/\ud800"},
        *({"token_endpoint": value} for value in (None, "", 1, [1], "ftp://x.example")),
        *({"jwks_uri": value} for value in (None, "", 1, [1], "ftp://x.example")),
        *({"scope": value} for value in (1, {"a": 1})),
        *({"code_challenge_method": value} for value in (None, "plain", 1, [])),
        {"id_token_signing_alg_values_supported": 1},
    ],
    ids=str,
)
def test_configuration_that_makes_no_sense_is_no_error_of_the_server(
    provider, metadata
):
    provider.metadata = metadata

    with serving_logins({"fake": provider}) as site:
        answer = site.start()

        assert answer.status_code == 302

        if error_of(answer) is None:
            assert "code_challenge_method=S256" in answer.headers["Location"]
            answer = site.log_in()

    assert (answer.status_code, answer_of(answer)[0]) == (302, HOME)


@pytest.mark.parametrize(
    "answer",
    [
        as_json([]),
        as_json("text"),
        as_json(None),
        as_json({}),
        as_json({"error": "x"}, 500),
        as_json({}, 404),
        moved("ftp://evil.example/"),
    ],
)
def test_without_a_configuration_the_start_is_an_error_for_people(
    site, provider, answer
):
    provider.answers["openid_configuration"] = answer

    answer = site.start()

    assert answer_of(answer)[0] == HOME
    assert error_of(answer) in (SILENT, INVALID)


def test_a_provider_that_is_down_at_the_start_is_an_error_for_people():
    provider = OpenIDProvider()

    with running(provider) as provider.url:
        pass

    with serving_logins({"fake": provider}) as site:
        answer = site.start("?redirect=/page")

    assert answer_of(answer) == (f"{HOME}/page", {"error": SILENT})


@pytest.mark.parametrize(
    "answer",
    [as_json({}, 503), as_json([]), as_json({}), as_json({"issuer": "x"})],
)
def test_a_provider_that_is_well_again_lets_users_in(site, provider, answer):
    provider.answers["openid_configuration"] = answer
    site.log_in()
    provider.answers.clear()

    answer = site.log_in()

    assert error_of(answer) is None


def test_openid_is_asked_for_whatever_the_scope_is(provider):
    provider.options = {"scope": ["email"]}

    with serving_logins({"fake": provider}) as site:
        started = site.start()

    assert "&scope=openid+email&" in started.headers["Location"]
    assert "&nonce=" in started.headers["Location"]


def test_no_token_is_logged(site, provider, caplog):
    seen = []
    provider.answers["token"] = giving(
        provider, lambda token: seen.append(token) or token
    )
    caplog.set_level(logging.INFO)
    answer = site.log_in()
    provider.forged = {"nonce": "x"}
    site.log_in()

    told = [*seen, token_of(answer), *provider.codes, CLIENT_SECRET]
    assert len(seen) == 2
    assert not any(one in caplog.text for one in told)
