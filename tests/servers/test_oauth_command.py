"""``flask records oauth``, which tests the addresses of providers."""

from __future__ import annotations

import pytest

from ..listening import running
from ..oauth_providers import as_json, CLIENT_SECRET, make_app, OpenIDProvider

GONE = "http://127.0.0.1:9/.well-known/openid-configuration"


@pytest.fixture
def other():
    other = OpenIDProvider()

    with running(other) as other.url:
        yield other


def check(providers, *options, oauth=None, **config):
    """Run ``flask records oauth``."""
    app = make_app(providers, oauth, **config)
    return app.test_cli_runner().invoke(args=["records", "oauth", *options])


def test_addresses_of_each_provider_are_tested(provider, other):
    result = check({"fake": provider, "other": other})

    assert result.output.splitlines() == [
        "fake",
        "  register <the address of your application>/oauth/fake/callback",
        f"  authorize_url {provider.url}/authorize: ok",
        f"  access_url {provider.url}/token: ok",
        f"  profile_url {provider.url}/profile: ok",
        "other",
        "  register <the address of your application>/oauth/other/callback",
        f"  discovery_url {other.url}/.well-known/openid-configuration: ok",
        f"  authorize_url {other.url}/authorize: ok",
        f"  access_url {other.url}/token: ok",
        f"  profile_url {other.url}/profile: ok",
        f"  keys_url {other.url}/keys: ok",
    ]
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("options", "oauth", "config", "address"),
    [
        (["--base-url", "https://a.example"], None, {}, "https://a.example"),
        ([], {"base_url": "https://b.example/api"}, {}, "https://b.example/api"),
        (
            ["--base-url", "https://a.example/v1/"],
            {"base_url": "https://b.example"},
            {},
            "https://a.example/v1",
        ),
        (
            [],
            None,
            {"SERVER_NAME": "c.example", "PREFERRED_URL_SCHEME": "https"},
            "https://c.example",
        ),
    ],
)
def test_the_callback_is_at_the_address_of_the_application(
    provider, options, oauth, config, address
):
    result = check({"fake": provider}, *options, oauth=oauth, **config)

    assert f"  register {address}/oauth/fake/callback\n" in result.output


@pytest.mark.parametrize("url", ["nonsense", "ftp://a.example", "//a.example"])
def test_an_address_that_is_none_is_refused(provider, url):
    result = check({"fake": provider}, "--base-url", url)

    assert "It must begin with https:// or http://." in result.output
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (as_json({}, 500), "HTTPError: 500"),
        (as_json([]), "InvalidResponse: "),
        (as_json({}), "InvalidResponse: The issuer is not text."),
        (
            as_json({"issuer": "x"}),
            "InvalidResponse: Its 'authorization_endpoint' is not an address.",
        ),
    ],
)
def test_a_configuration_that_can_not_be_used_is_told(provider, other, answer, problem):
    other.answers["openid_configuration"] = answer

    result = check({"fake": provider, "other": other})

    url = f"{other.url}/.well-known/openid-configuration"
    assert f"  discovery_url {url}: {problem}" in result.output
    assert f"  access_url {provider.url}/token: ok" in result.output
    assert result.exit_code == 1


def test_a_provider_that_is_gone_is_told(other):
    other.options = {"discovery_url": GONE}

    result = check({"other": other})

    assert f"  discovery_url {GONE}: ConnectionError: " in result.output
    assert result.exit_code == 1


def test_no_secret_is_shown_or_sent(provider):
    sent = []
    provider.answers["token"] = lambda request: (
        sent.append(f"{request.headers}{request.get_data()}") or as_json({})
    )

    result = check({"fake": provider})

    assert len(sent) == 1
    assert CLIENT_SECRET not in result.output + sent[0]
    assert "Authorization" not in sent[0]


def test_without_providers_there_is_nothing_to_test():
    result = check({})

    assert result.output == "No OAuth provider is configured.\n"
    assert result.exit_code == 0
