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


def test_each_provider_is_asked_without_the_secret(provider, other):
    sent = []
    provider.answers["token"] = lambda request: (
        sent.append(f"{request.headers}{request.get_data()}") or as_json({}, 404)
    )

    result = check({"fake": provider, "other": other})

    assert result.output.splitlines() == [
        "fake",
        "  register <the address of your application>/oauth/fake/callback",
        "  responds",
        "other",
        "  register <the address of your application>/oauth/other/callback",
        "  responds",
    ]
    assert (result.exit_code, len(sent)) == (0, 1)
    assert CLIENT_SECRET not in result.output + sent[0]


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


def test_an_address_that_is_none_is_refused(provider):
    result = check({"fake": provider}, "--base-url", "ftp://a.example")

    assert "It must begin with https:// or http://." in result.output
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (as_json({}, 500), "HTTPError: 500"),
        (as_json({}), "InvalidResponse: The issuer is not text."),
        (None, "ConnectionError"),
    ],
)
def test_a_provider_that_can_not_be_used_is_told(provider, other, answer, problem):
    other.answers["openid_configuration"] = answer
    other.options = {} if answer else {"discovery_url": GONE}

    result = check({"fake": provider, "other": other})

    lines = result.output.splitlines()
    assert (lines[2], lines[5]) == ("  responds", f"  {problem}")
    assert result.exit_code == 1


def test_without_providers_there_is_nothing_to_test():
    result = check({})

    assert result.output == "No OAuth provider is configured.\n"
    assert result.exit_code == 0
