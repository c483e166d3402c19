"""Settings of OAuth providers, checked at the start."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import column_property, DeclarativeBase, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
)
from flask_records.authentication.oauth_settings import OAuthSettings
from flask_records.authentication.providers import KNOWN, Provider
from flask_records.authentication.redirects import Redirects
from tests.authentication import API_KEY, Echo, SECRET

URL = "https://provider.example"

FAKE = {
    "key": "the-key",
    "secret": "told-to-nobody",
    "authorize_url": f"{URL}/authorize",
    "access_url": f"{URL}/token",
    "profile_url": f"{URL}/profile",
}

DISCOVERY = f"{URL}/.well-known/openid-configuration"

GITHUB = {"key": "the-key", "secret": "told-to-nobody"}

TEXT = sa.String(50)

NO_ORIGINS = [
    *("", "x", "//app.example", "https:app.example", "ftp://app.example", "*", "null"),
    *("https://a:b@app.example", "https://app.example:65536", "https://[::1", 5, {}),
    *("https://app.example/\n", "https://app.exam\tple"),
]
"""Values that are no origins."""


def parse(**oauth):
    return OAuthSettings.parse(oauth, "OAUTH")


def message_of(**oauth):
    with pytest.raises(RuntimeError) as caught:
        parse(**oauth)

    assert "told-to-nobody" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        *((name, [None, "", True, 1.5, ["x"], b"x"]) for name in ("key", "secret")),
        *((name, ["x"]) for name in ("sceret", "Scope", "redirect", "name", "")),
        ("scope", [None, 5, {"email": True}, ["email", 5]]),
        ("params", [None, "prompt=login", ["prompt"]]),
        ("token_endpoint_auth_method", [None, "", "none", ["x"]]),
        *((name, [*NO_ORIGINS, "/path"]) for name in ("access_url", "discovery_url")),
    ],
)
def test_wrong_option_of_a_provider_is_named_in_full(option, values):
    messages = [message_of(fake={**FAKE, option: value}) for value in values]

    assert {message.split(" ")[0] for message in messages} == {
        f"OAUTH['fake'][{option!r}]"
    }


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("redirect", [*NO_ORIGINS, "//evil.test", "/\\evil.test", "/a\nb", "page"]),
        ("base_url", [*NO_ORIGINS, "/path", "https://x.yz?x=1", "https://x.yz/#x"]),
        ("origins", ["https://app.example", "*", 5, {"x": 1}]),
    ],
)
def test_wrong_option_is_named_in_full(option, values):
    messages = [message_of(github=GITHUB, **{option: value}) for value in values]

    assert {message.split(" ")[0] for message in messages} == {f"OAUTH[{option!r}]"}


def test_wrong_origin_is_named_in_full():
    for value in (*NO_ORIGINS, None, "/", "https://*.app.example"):
        message = message_of(github=GITHUB, origins=["https://app.example", value])

        assert message.startswith("OAUTH['origins'][1] ")


@pytest.mark.parametrize("said", [None, "x", 5, ["x"]])
def test_provider_is_a_mapping(said):
    assert message_of(github=said).startswith("OAUTH['github'] ")


@pytest.mark.parametrize("name", ["", "1x", "_x", "a b", "a/b", "x" * 51])
def test_provider_has_a_name_that_fits_urls_and_fields(name):
    assert (
        message_of(**{name: FAKE}) == f"OAUTH[{name!r}] is not a name for a provider."
    )


@pytest.mark.parametrize("left_out", ["authorize_url", "access_url", "profile_url"])
def test_provider_that_is_not_known_needs_endpoints(left_out):
    said = {key: value for key, value in FAKE.items() if key != left_out}

    messages = {message_of(gihtub=one) for one in (GITHUB, said)}

    assert messages == {
        "OAUTH['gihtub'] is not known by name. It needs 'discovery_url', or"
        " 'authorize_url', 'access_url' and 'profile_url'."
    }


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_provider_is_elsewhere_with_all_its_addresses(name):
    """Its token would be sent to a host that did not issue it."""
    url = "https://idp.example/x"
    options = ("authorize_url", "access_url", "profile_url")
    found = parse(**{name: {**GITHUB, "discovery_url": url}}).providers[name]
    urls = (getattr(found, option) for option in (*options, "emails_url"))

    assert {urlsplit(each).hostname for each in urls if each} <= {"idp.example"}
    assert parse(**{name: GITHUB}).providers[name] == replace(KNOWN[name], **GITHUB)

    for option in options:
        message = message_of(**{name: {**GITHUB, option: url}})
        assert message.startswith(f"OAUTH['{name}'] has an address on another host.")


def test_github_elsewhere_has_its_emails_there_too():
    urls = {"authorize_url": "a", "access_url": "b", "profile_url": "api/user"}
    said = {name: f"https://idp.example/{path}" for name, path in urls.items()}

    github = parse(github={**GITHUB, **said}).providers["github"]

    assert github.emails_url == "https://idp.example/api/user/emails"


def test_settings_are_one_value_without_secrets_in_its_text():
    settings = parse(
        redirect="/after-login",
        origins=["https://App.example/", "http://localhost:3000"],
        base_url="https://records.example/api",
        github={**GITHUB, "emails_url": None},
        fake={**FAKE, "scope": "email", "params": {"prompt": "login"}},
    )

    assert "told-to-nobody" not in repr(settings)
    assert settings == OAuthSettings(
        providers={
            "github": replace(KNOWN["github"], **GITHUB, emails_url=None),
            "fake": Provider("fake", **FAKE, scope="email", params={"prompt": "login"}),
        },
        redirects=Redirects(
            "/after-login", ("https://app.example", "http://localhost:3000")
        ),
        base_url="https://records.example/api",
    )


@pytest.mark.parametrize(
    ("scope", "kept"),
    [
        ("  email\n profile ", "email profile"),
        (["email", "profile"], "email profile"),
        ("", ""),
        ([], ""),
    ],
)
def test_scope_is_text_or_a_list(scope, kept):
    assert parse(fake={**FAKE, "scope": scope}).providers["fake"].scope == kept


@pytest.mark.parametrize(
    ("scope", "kept"),
    [
        ("email", "openid email"),
        ("email openid", "email openid"),
        ("", "openid"),
        ("openid_x", "openid openid_x"),
    ],
)
def test_discovery_asks_for_openid(scope, kept):
    said = {**GITHUB, "discovery_url": DISCOVERY, "scope": scope}

    assert parse(fake=said).providers["fake"].scope == kept


def test_settings_of_the_environment(monkeypatch):
    environment = {
        "origins": json.dumps(["https://app.example"]),
        "discord__key": "1129474810948919346",
        "discord__secret": "12345678",
        "discord__scope": '["identify"]',
        "company__key": "x",
        "company__secret": "true story",
        "company__discovery_url": DISCOVERY,
        "company__params__prompt": "login",
    }

    for name, value in environment.items():
        monkeypatch.setenv(f"FLASK_RECORDS_AUTHENTICATION__oauth__{name}", value)

    app = Flask("tests")
    app.config.from_prefixed_env()
    oauth = app.config["RECORDS_AUTHENTICATION"]["oauth"]

    discord = {"key": "1129474810948919346", "secret": "12345678", "scope": "identify"}
    company = {"key": "x", "secret": "true story", "discovery_url": DISCOVERY}
    assert parse(**oauth) == parse(
        origins=["https://app.example"],
        discord=discord,
        company={**company, "params": {"prompt": "login"}},
    )


# The start of an application


def start(oauth, records=None, **config):
    app = Flask("tests")
    app.config["SECRET_KEY"] = SECRET
    app.config["RECORDS_AUTHENTICATION"] = {"oauth": oauth}
    app.config.update(config)
    (records or make_records()).init_app(app)
    return app


def make_records(users=None, **options):
    records = FlaskRecords()
    records.add("authentication", AuthenticationService(**options))
    added = records.add("users", users or Echo())
    added.before("create", "update", "patch")(hash_password())
    return records


def users_with(hidden=("password",), **attributes):
    """A service of users with some columns."""

    class Base(DeclarativeBase):
        pass

    class Person(Base):
        __tablename__ = "person"

        id = mapped_column(sa.Integer, primary_key=True)
        email = mapped_column(TEXT)
        password = mapped_column(TEXT)
        locals().update(attributes)

    return SQLAlchemyService(Person, hidden=[*hidden])


def refusal_of(*args, **options):
    with pytest.raises(RuntimeError) as caught:
        start(*args, **options)

    return str(caught.value)


def test_provider_has_no_name_of_another_strategy():
    records = make_records(strategies={"api-key": API_KEY})

    messages = [refusal_of({name: FAKE}, records) for name in ("jwt", "api-key")]

    assert [message.split(" ")[0] for message in messages] == [
        "RECORDS_AUTHENTICATION['oauth']['jwt']",
        "RECORDS_AUTHENTICATION['oauth']['api-key']",
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"SESSION_COOKIE_SAMESITE": "Strict"}, "needs SESSION_COOKIE_SAMESITE='Lax'"),
        ({"SECRET_KEY": None}, "needs SECRET_KEY: logins are in Flask's session."),
    ],
)
def test_session_that_can_not_keep_a_login_is_an_error(config, message):
    config["RECORDS_AUTHENTICATION"] = {"secret": SECRET, "oauth": {"github": GITHUB}}

    refusal = refusal_of({}, **config)

    assert refusal.startswith(f"RECORDS_AUTHENTICATION['oauth'] {message}")


def test_only_one_service_of_an_app_has_providers():
    records = make_records()
    records.add("staff/authentication", AuthenticationService(settings="STAFF_LOGIN"))
    staff = {"secret": "t" * 32, "audience": "staff", "oauth": {"google": GITHUB}}

    message = refusal_of({"github": GITHUB}, records, STAFF_LOGIN=staff)

    assert message.startswith("STAFF_LOGIN['oauth'] ")


@pytest.mark.parametrize(
    "attributes",
    [
        {"githubId": mapped_column("github_id", TEXT, unique=True, nullable=False)},
        {
            "githubId": mapped_column(TEXT, unique=True),
            "hidden": ["password", "githubId"],
        },
        {
            "githubId": mapped_column("github_id", TEXT),
            "__table_args__": (sa.Index("one_id", "github_id", unique=True),),
        },
    ],
)
def test_users_have_a_unique_field_for_each_provider(attributes):
    app = start({"github": GITHUB}, make_records(users_with(**attributes)))

    assert app.url_map.bind("x").test("/oauth/github")


class WithProperty:
    @hybrid_property
    def githubId(self):
        return self.email


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"githubId": mapped_column(TEXT, index=True)},
        {"github_id": mapped_column("githubId", TEXT, unique=True)},
        {"githubId": column_property(sa.func.lower(sa.literal_column("email")))},
        {"githubId": WithProperty.__dict__["githubId"]},
        {
            "githubId": mapped_column(TEXT),
            "__table_args__": (sa.UniqueConstraint("githubId", "email"),),
        },
    ],
)
def test_users_without_a_unique_field_for_a_provider_are_an_error(attributes):
    message = refusal_of({"github": GITHUB}, make_records(users_with(**attributes)))

    assert message == (
        "RECORDS_AUTHENTICATION['oauth']['github'] needs a field 'githubId' of 'users':"
        " text that is unique and can be null."
    )


@pytest.mark.parametrize("method", ["find", "get", "create", "patch"])
def test_users_without_a_method_for_a_provider_are_an_error(method):
    methods = {"find", "get", "create", "patch", "remove"} - {method}
    records = FlaskRecords()
    records.add("authentication", AuthenticationService())
    records.add("users", users_with(), methods=methods)

    message = refusal_of({"github": GITHUB}, records)

    needs = f"RECORDS_AUTHENTICATION['oauth'] needs the method '{method}' of 'users'."
    assert message.startswith(needs)


def test_without_providers_there_are_no_views_and_users_that_tell_no_fields_may_have():
    assert start({"github": GITHUB}, make_records(Echo()))

    client = start({"redirect": "/"}, make_records(users_with())).test_client()

    assert client.get("/oauth/github").status_code == 404


STARTED = """
import sys
from flask import Flask
from flask_records import AuthenticationService, FlaskRecords
missing, is_used = sys.argv[1], sys.argv[2] == "True"
if is_used:
    sys.modules[missing] = None
records = FlaskRecords()
records.add("authentication", AuthenticationService())
records.add("users", type("Users", (), {"find": lambda self, params: []})())
app = Flask("tests")
github = {"key": "the-key", "secret": "told-to-nobody"}
app.config["SECRET_KEY"] = "s" * 32
app.config["RECORDS_AUTHENTICATION"] = {"oauth": {"github": github} if is_used else {}}
records.init_app(app)
app.test_client().post("/authentication", json={"strategy": "fake"})
print(sorted({"authlib", "joserfc", "requests"} & set(sys.modules)))
"""


@pytest.mark.parametrize("is_used", [True, False])
def test_the_extra_is_needed_with_a_provider_alone(is_used):
    command = [sys.executable, "-c", STARTED, "authlib", str(is_used)]

    done = subprocess.run(command, capture_output=True, text=True)

    if is_used:
        last = done.stderr.splitlines()[-1]
        assert last.startswith("RuntimeError: ")
        assert "flask-record-services[oauth]" in last
    else:
        assert done.stdout == "[]\n"
