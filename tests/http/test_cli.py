"""The commands of ``flask records``."""

from __future__ import annotations

import click
import pytest
from flask import Flask

from flask_records import FlaskRecords

from ..listening import running
from ..oauth_providers import as_json
from ..oauth_providers import CLIENT_SECRET
from ..oauth_providers import make_app
from ..oauth_providers import OpenIDProvider
from ..oauth_providers import Provider

GONE = "http://127.0.0.1:9/.well-known/openid-configuration"

COMMANDS = [
    (["openapi"], "openapi.json"),
    (["types"], "api.ts"),
]


class Bell:
    def find(self, params):
        return []

    def create(self, data, params):
        return data


@pytest.fixture
def other():
    other = OpenIDProvider()

    with running(other) as other.url:
        yield other


@pytest.fixture
def run():
    def run(*arguments, methods=("find",)):
        app = Flask("bells")
        records = FlaskRecords()
        records.add("bells", Bell(), methods=methods, public=True)
        records.init_app(app)
        return app.test_cli_runner().invoke(args=["records", *map(str, arguments)])

    return run


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


def test_an_endpoint_that_is_gone_is_told(provider):
    with running(Provider()) as gone:
        provider.options = {"access_url": f"{gone}/token"}

    result = check({"fake": provider})

    assert f"  access_url {gone}/token: ConnectionError: " in result.output
    assert f"  profile_url {provider.url}/profile: ok" in result.output
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


def test_commands_of_the_application_of_this_name_stay():
    app = Flask("tests")
    own = click.Group("records")
    app.cli.add_command(own)

    FlaskRecords(app)

    assert app.cli.commands["records"] is own


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_a_file_has_what_is_printed(run, tmp_path, command, name):
    run(*command, "--output", tmp_path / name)

    assert (tmp_path / name).read_text() == run(*command).stdout


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_a_fresh_file_is_up_to_date(run, tmp_path, command, name):
    run(*command, "--output", tmp_path / name)

    result = run(*command, "--check", tmp_path / name)

    assert result.output == f"{tmp_path / name} is up to date.\n"
    assert result.exit_code == 0


@pytest.mark.parametrize(("command", "name"), COMMANDS)
def test_a_stale_file_fails(run, tmp_path, command, name):
    file = tmp_path / name
    run(*command, "--output", file)
    stored = file.read_bytes()

    result = run(*command, "--check", file, methods=["find", "create"])

    assert result.stdout == ""
    assert "\n+" in result.stderr
    assert result.stderr.endswith(
        f"Error: {file} is stale. Make it again: run this command with --output in"
        " place of --check.\n"
    )
    assert result.exit_code == 1
    assert file.read_bytes() == stored


def test_a_file_that_is_not_there_fails(run, tmp_path):
    result = run("types", "--check", tmp_path / "api.ts")

    assert f"{tmp_path / 'api.ts'} does not exist." in result.stderr
    assert result.exit_code == 1


def test_ends_of_lines_make_no_difference(run, tmp_path):
    file = tmp_path / "api.ts"
    run("types", "--output", file)
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))

    assert run("types", "--check", file).exit_code == 0


def test_a_file_is_either_written_or_compared(run, tmp_path):
    file = tmp_path / "api.ts"

    result = run("types", "--check", file, "--output", file)

    assert "Use either --output or --check." in result.stderr
    assert result.exit_code == 2


def test_a_file_that_can_not_be_written_is_named(run, tmp_path):
    file = tmp_path / "gone" / "api.ts"

    result = run("types", "--output", file)

    assert f"Could not open file '{file}': No such file or directory" in result.stderr
    assert result.exit_code == 1
