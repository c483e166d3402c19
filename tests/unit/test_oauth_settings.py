"""Settings of OAuth providers, checked at the start."""

import sys
from dataclasses import replace

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import DeclarativeBase, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
)
from flask_records.authentication.oauth_settings import OAuthSettings
from flask_records.authentication.providers import Provider, PROVIDERS
from tests.authentication import ANY_LOGIN, API_KEY, Echo, SECRET

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

TEXT = sa.String(255)

NO_ORIGINS = [
    *("", "x", "//app.example", "https:app.example", "ftp://app.example", "*", "null"),
    *("https://a:b@app.example", "https://app.example:65536", 5, {}),
]
"""Values that are no origins."""

NEEDS_URLS = (
    "needs 'discovery_url', or 'authorize_url', 'access_url' and 'profile_url'."
)


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
        ("scope", [5, {"email": True}, ["email", 5]]),
        ("params", ["prompt=login", ["prompt"]]),
        ("token_endpoint_auth_method", ["", "none", ["x"]]),
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
        ("origins", [5, ["x"], ["*"], ["https://app.example/path"]]),
    ],
)
def test_wrong_option_is_named_in_full(option, values):
    messages = [message_of(github=GITHUB, **{option: value}) for value in values]

    names = {message.split(" ")[0].removesuffix("[0]") for message in messages}
    assert names == {f"OAUTH[{option!r}]"}


@pytest.mark.parametrize(
    ("oauth", "message"),
    [
        ({"github": "x"}, "['github'] must be a mapping such as "),
        ({"github": {**GITHUB, "sceret": 1}}, "['github'] has no key 'sceret'. The "),
        *(
            ({name: FAKE}, f"[{name!r}] is not a name for a provider.")
            for name in ("", "1x", "a b", "a/b", "x" * 51)
        ),
        ({"gihtub": GITHUB}, f"['gihtub'] {NEEDS_URLS}"),
        ({"fake": {**FAKE, "profile_url": None}}, f"['fake'] {NEEDS_URLS}"),
        # Its token would be sent to a host that did not issue it.
        ({"github": {**GITHUB, "profile_url": URL}}, f"['github'] {NEEDS_URLS}"),
    ],
)
def test_provider_has_a_name_and_a_mapping_with_all_addresses(oauth, message):
    assert message_of(**oauth).startswith(f"OAUTH{message}")


def test_a_known_provider_needs_a_key_and_a_secret_or_is_elsewhere():
    github = parse(github=GITHUB).providers["github"]
    elsewhere = parse(github={**GITHUB, "discovery_url": DISCOVERY})

    assert github == replace(PROVIDERS["github"], **GITHUB)
    assert elsewhere.providers["github"].emails_url is None
    assert elsewhere.providers["github"].access_url is None


def test_settings_are_one_value_without_secrets_in_its_text():
    settings = parse(
        redirect="/after-login",
        origins=["https://App.example/", "http://localhost:3000"],
        github={**GITHUB, "scope": None},
        fake={**FAKE, "scope": "email", "params": {"prompt": "login"}},
    )

    assert "told-to-nobody" not in repr(settings)
    assert settings == OAuthSettings(
        providers={
            "github": replace(PROVIDERS["github"], **GITHUB),
            "fake": Provider("fake", **FAKE, scope="email", params={"prompt": "login"}),
        },
        redirect="/after-login",
        origins=("https://app.example", "http://localhost:3000"),
    )


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"scope": "email profile"}, "email profile"),
        ({"scope": ["email", "profile"]}, "email profile"),
        ({"scope": "email", "discovery_url": DISCOVERY}, "openid email"),
        ({"scope": "email openid", "discovery_url": DISCOVERY}, "email openid"),
        ({"discovery_url": DISCOVERY}, "openid"),
    ],
)
def test_scope_is_text_or_a_list_and_asks_for_openid_with_discovery(options, kept):
    assert parse(fake={**FAKE, **options}).providers["fake"].scope == kept


# The start of an application


def start(oauth, records=None, **config):
    app = Flask("tests")
    app.config["SECRET_KEY"] = SECRET
    app.config["RECORDS_AUTHENTICATION"] = {"oauth": oauth}
    app.config.update(config)
    (records or make_records()).init_app(app)
    return app


def make_records(users=None, **options):
    records = FlaskRecords(allow=ANY_LOGIN)
    records.add("authentication", AuthenticationService(**options))
    added = records.add("users", users or Echo())
    added.before("create", "update", "patch")(hash_password())
    return records


def users_with(**attributes):
    """A service of users with some columns."""

    class Base(DeclarativeBase):
        pass

    class Person(Base):
        __tablename__ = "person"

        id = mapped_column(sa.Integer, primary_key=True)
        email = mapped_column(TEXT)
        password = mapped_column(TEXT)
        locals().update(attributes)

    return SQLAlchemyService(Person, hidden=["password"])


def refusal_of(*args, **options):
    with pytest.raises(RuntimeError) as caught:
        start(*args, **options)

    return str(caught.value)


def test_provider_has_no_name_of_another_strategy():
    records = make_records(strategies={"api-key": API_KEY})

    messages = [refusal_of({name: FAKE}, records) for name in ("jwt", "api-key")]

    assert messages == [
        f"RECORDS_AUTHENTICATION['oauth']['{name}'] has the name of a strategy."
        for name in ("jwt", "api-key")
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

    assert message.startswith("STAFF_LOGIN['oauth'] is the second one")


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"githubId": mapped_column(TEXT, index=True)},
        {"github_id": mapped_column("githubId", TEXT, unique=True)},
    ],
)
def test_users_have_a_unique_field_for_each_provider(attributes):
    right = users_with(githubId=mapped_column("github_id", TEXT, unique=True))
    start({"github": GITHUB}, make_records(right))

    assert refusal_of({"github": GITHUB}, make_records(users_with(**attributes))) == (
        "RECORDS_AUTHENTICATION['oauth']['github'] needs a field 'githubId' of 'users':"
        " text that is unique and can be null."
    )


def test_without_providers_there_are_no_views_and_users_that_tell_no_fields_may_have():
    assert start({"github": GITHUB}, make_records(Echo()))

    client = start({"redirect": "/"}, make_records(users_with())).test_client()

    assert client.get("/oauth/github").status_code == 404


def test_a_provider_needs_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "flask_records.authentication.oauth_client", None)

    message = refusal_of({"github": GITHUB})

    assert message.endswith("['oauth'] needs 'flask-record-services[oauth]'.")
