from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import product

import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.hazmat.primitives.serialization import NoEncryption
from cryptography.hazmat.primitives.serialization import PrivateFormat
from cryptography.hazmat.primitives.serialization import PublicFormat
from flask import Flask
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import column_property
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import mapped_column

from flask_records import AuthenticationService
from flask_records import FlaskRecords
from flask_records import hash_password
from flask_records import SQLAlchemyService
from flask_records.authentication.oauth_settings import OAuthSettings
from flask_records.authentication.providers import KNOWN
from flask_records.authentication.providers import Provider
from flask_records.authentication.redirects import Redirects
from tests.authentication import API_KEY
from tests.authentication import Echo
from tests.authentication import SECRET

URL = "https://provider.example"

FAKE = {
    "key": "the-key",
    "secret": "told-to-nobody",
    "authorize_url": f"{URL}/authorize",
    "access_url": f"{URL}/token",
    "profile_url": f"{URL}/profile",
}

GITHUB = {"key": "the-key", "secret": "told-to-nobody"}

TEXT = sa.String(50)

NO_TEXT = [None, "", True, False, 1.5, [], ["x"], {}, b"x"]

NO_ORIGINS = [
    *(
        "",
        "x",
        "app.example",
        "//app.example",
        "https://",
        "https:",
        "https:app.example",
    ),
    *("https:/app.example", "ftp://app.example", "javascript:alert(1)", "*", "null"),
    *("https://ann@app.example", "https://a:b@app.example", "https://app.example:x"),
    *("https://app.example:65536", "https://[::1", 5, True, [], {}),
    *("https://app.example/\n", "https://app.example /", "https://app.exam\tple"),
]
"""Values that are no origins."""

NO_URLS = ["", "x", "/path", "ftp://x.example", "https://x.example/\n", 5, True, ["x"]]


def start(oauth, records=None, *, setting="RECORDS_AUTHENTICATION", **config):
    """An application with users whose model is not known."""
    app = Flask("tests")
    app.config[setting] = {"secret": SECRET, "oauth": oauth}
    app.config.update(config)
    records = records or make_records(setting=setting)
    records.init_app(app)
    return app


def make_records(users=None, *, path="users", setting="RECORDS_AUTHENTICATION", **rest):
    records = FlaskRecords()
    service = AuthenticationService(path, settings=setting, **rest)
    records.add("authentication", service)
    added = records.add(path, users or Echo())
    added.before("create", "update", "patch")(hash_password())
    return records


def model_with(**attributes):
    """A model of users with some columns."""

    class Base(DeclarativeBase):
        pass

    class Person(Base):
        __tablename__ = "person"

        id = mapped_column(sa.Integer, primary_key=True)
        email = mapped_column(TEXT)
        password = mapped_column(TEXT)
        locals().update(attributes)

    return Person


def users_with(**attributes):
    return SQLAlchemyService(model_with(**attributes), hidden=["password"])


def parse(**oauth):
    return OAuthSettings.parse(oauth, "OAUTH")


def provider_of(**said):
    return parse(fake={**FAKE, **said}).providers["fake"]


def message_of(oauth, *args, **options):
    with pytest.raises(RuntimeError) as caught:
        start(oauth, *args, **options)

    return str(caught.value)


def in_full(key):
    return f"RECORDS_AUTHENTICATION['oauth']{key} "


@pytest.mark.parametrize("said", [None, "x", 5, True, [], ["x"]])
def test_provider_is_a_mapping(said):
    assert message_of({"github": said}).startswith(in_full("['github']"))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *product(["key", "secret"], NO_TEXT),
        *product(["sceret", "Scope", "redirect", "name", "read_profile", ""], ["x"]),
        *product(["scope"], [None, 5, True, {}, {"email": True}, ["email", 5], [None]]),
        *product(["params"], [None, "prompt=login", 5, ["prompt"]]),
        *product(["token_endpoint_auth_method"], [None, "", "none", 5, [], ["x"]]),
        *product(["authorize_url", "access_url", "profile_url"], NO_URLS),
        *product(["discovery_url"], [*NO_ORIGINS, *NO_URLS]),
    ],
)
def test_wrong_option_of_a_provider_is_named_in_full_at_the_start(option, value):
    message = message_of({"fake": {**FAKE, option: value}})

    assert message.startswith(in_full(f"['fake'][{option!r}]"))
    assert "told-to-nobody" not in message


@pytest.mark.parametrize("option", ["key", "secret"])
def test_missing_option_of_a_provider_is_named_in_full_at_the_start(option):
    said = {name: value for name, value in GITHUB.items() if name != option}

    message = message_of({"github": said})

    assert message == in_full(f"['github'][{option!r}]") + "is missing, or not text."


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *product(["redirect"], [*NO_ORIGINS, *NO_URLS[3:]]),
        *product(
            ["redirect"], ["//evil.test", "/\\evil.test", "/a\nb", "/a\n", "page"]
        ),
        *product(["base_url"], [*NO_ORIGINS, "/path", "https://x.example?x=1"]),
        *product(["base_url"], ["https://x.example/#x"]),
        *product(["origins"], ["https://app.example", "*", "", 5, True, {}, {"x": 1}]),
    ],
)
def test_wrong_option_is_named_in_full_at_the_start(option, value):
    message = message_of({"github": GITHUB, option: value})

    assert message.startswith(in_full(f"[{option!r}]"))


@pytest.mark.parametrize("value", [*NO_ORIGINS, None, "/", "https://*.app.example"])
def test_wrong_origin_is_named_in_full_at_the_start(value):
    message = message_of({"github": GITHUB, "origins": ["https://app.example", value]})

    assert message.startswith(in_full("['origins'][1]"))


@pytest.mark.parametrize("name", ["", "1x", "-x", "_x", "a b", "a/b", "a.b", "x" * 51])
def test_provider_has_a_name_that_fits_urls_and_fields(name):
    message = message_of({name: FAKE})

    assert message == in_full(f"[{name!r}]") + "is not a name for a provider."


@pytest.mark.parametrize("name", ["gihtub", "GitHub", "redirects"])
@pytest.mark.parametrize("left_out", ["authorize_url", "access_url", "profile_url"])
def test_provider_that_is_not_known_needs_endpoints(name, left_out):
    said = {key: value for key, value in FAKE.items() if key != left_out}

    messages = {message_of({name: one}) for one in (GITHUB, said)}

    assert messages == {
        in_full(f"[{name!r}]") + "is not known by name. It needs 'discovery_url', or"
        " 'authorize_url', 'access_url' and 'profile_url'."
    }


def test_message_names_the_setting_of_the_service():
    message = message_of({"github": {"key": "x"}}, setting="STAFF_LOGIN")

    assert message.startswith("STAFF_LOGIN['oauth']['github']['secret'] is missing")


@pytest.mark.parametrize("name", ["jwt", "local", "api-key"])
def test_provider_has_no_name_of_another_strategy(name):
    records = make_records(strategies={"api-key": API_KEY})

    message = message_of({name: FAKE}, records)

    assert message.startswith(f"RECORDS_AUTHENTICATION['oauth'][{name!r}] ")


def test_only_one_service_of_an_app_has_providers():
    records = make_records()
    records.add("staff/authentication", AuthenticationService(settings="STAFF_LOGIN"))
    staff = {"secret": "t" * 32, "audience": "staff", "oauth": {"google": GITHUB}}

    message = message_of({"github": GITHUB}, records, STAFF_LOGIN=staff)

    assert message.startswith("STAFF_LOGIN['oauth'] ")


def test_key_that_signs_tokens_signs_no_logins():
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )
    settings = {
        "algorithm": "ES256",
        "private_key": private.decode(),
        "public_key": public.decode(),
        "oauth": {"github": GITHUB},
    }

    message = message_of({}, RECORDS_AUTHENTICATION=settings)

    assert message == in_full("") + "needs SECRET_KEY."
    assert start({}, RECORDS_AUTHENTICATION=settings, SECRET_KEY=SECRET)


@pytest.mark.parametrize(
    "column",
    [
        mapped_column(TEXT, unique=True),
        mapped_column("github_id", TEXT, unique=True, nullable=False),
        mapped_column(TEXT, unique=True, index=True),
    ],
)
def test_users_have_a_unique_field_for_each_provider(column):
    records = make_records(users_with(githubId=column))

    assert start({"github": GITHUB}, records).url_map.bind("x").test("/oauth/github")


@pytest.mark.parametrize(
    "arguments",
    [
        [sa.UniqueConstraint("github_id")],
        [sa.Index("one_github_id", "github_id", unique=True)],
    ],
)
def test_field_is_unique_by_a_constraint_or_an_index(arguments):
    model = model_with(
        githubId=mapped_column("github_id", TEXT), __table_args__=tuple(arguments)
    )

    assert start(
        {"github": GITHUB}, make_records(SQLAlchemyService(model, hidden=["password"]))
    )


def test_field_may_be_hidden_and_read_only():
    model = model_with(githubId=mapped_column(TEXT, unique=True))
    users = SQLAlchemyService(
        model, hidden=["githubId", "password"], readonly=["githubId"]
    )

    assert start({"github": GITHUB}, make_records(users))


class WithProperty:
    @hybrid_property
    def githubId(self):
        return self.email


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"githubId": mapped_column(TEXT)},
        {"githubId": mapped_column(TEXT, index=True)},
        {"githubid": mapped_column(TEXT, unique=True)},
        {"github_id": mapped_column("githubId", TEXT, unique=True)},
        {"githubId": column_property(sa.func.lower(sa.literal_column("email")))},
        {"githubId": WithProperty.__dict__["githubId"]},
        {
            "githubId": mapped_column(TEXT),
            "__table_args__": (sa.UniqueConstraint("githubId", "email"),),
        },
        {
            "githubId": mapped_column(TEXT),
            "__table_args__": (sa.Index("some", "githubId", "email", unique=True),),
        },
    ],
)
def test_users_without_a_unique_field_for_a_provider_are_an_error(attributes):
    records = make_records(users_with(**attributes), path="people")

    assert message_of({"github": GITHUB}, records) == (
        in_full("['github']") + "needs a field 'githubId' of 'people': text that is"
        " unique and can be null."
    )


@pytest.mark.parametrize("method", ["find", "get", "create", "patch"])
def test_users_without_a_method_for_a_provider_are_an_error(method):
    methods = {"find", "get", "create", "patch", "remove"} - {method}
    records = FlaskRecords()
    records.add("authentication", AuthenticationService())
    records.add("users", users_with(), methods=methods)

    assert message_of({"github": GITHUB}, records) == (
        f"RECORDS_AUTHENTICATION['oauth'] needs the method '{method}' of 'users'. Leave"
        " it in 'methods', and refuse clients in a hook: params.provider is None for"
        " the calls of logins."
    )


@pytest.mark.parametrize("first", ["authentication", "users"])
def test_field_is_looked_for_whenever_the_services_are_added(first):
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {
        "secret": SECRET,
        "oauth": {"github": GITHUB},
    }
    records = FlaskRecords(app)
    added = {"authentication": AuthenticationService(), "users": users_with()}
    names = sorted(added, key=lambda name: name != first)

    with pytest.raises(RuntimeError, match="needs a field 'githubId' of 'users'"):
        for name in names:
            records.add(name, added[name])


def test_users_that_tell_no_fields_are_not_checked():
    assert start({"github": GITHUB}, make_records(Echo()))


@pytest.mark.parametrize("oauth", [{}, {"redirect": "/"}])
def test_without_providers_there_are_no_views(oauth):
    client = start(oauth, make_records(users_with())).test_client()

    assert client.get("/oauth/github").status_code == 404


WITHOUT_EXTRA = """
import sys
from flask import Flask
from flask_records import AuthenticationService, FlaskRecords
sys.modules[sys.argv[1]] = None
records = FlaskRecords()
records.add("authentication", AuthenticationService())
app = Flask("tests")
github = {"key": "the-key", "secret": "told-to-nobody"}
app.config["RECORDS_AUTHENTICATION"] = {"secret": "s" * 32, "oauth": {"github": github}}
records.init_app(app)
"""


@pytest.mark.parametrize("module", ["authlib", "requests"])
def test_extra_that_is_missing_is_named_at_the_start(module):
    command = [sys.executable, "-c", WITHOUT_EXTRA, module]

    done = subprocess.run(command, capture_output=True, text=True)

    last = done.stderr.splitlines()[-1]
    assert last.startswith("RuntimeError: ") and "flask-record-services[oauth]" in last


def test_settings_are_one_value():
    settings = parse(
        redirect="/after-login",
        origins=["https://App.example/", "http://localhost:3000"],
        base_url="https://records.example/api",
        github=GITHUB,
        fake={**FAKE, "scope": "email", "params": {"prompt": "login"}},
    )

    assert settings == OAuthSettings(
        providers={
            "github": replace(KNOWN["github"], key="the-key", secret="told-to-nobody"),
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
        ("email profile", "email profile"),
        ("  email\n profile ", "email profile"),
        (["email", "profile"], "email profile"),
        (("email",), "email"),
        ("", ""),
        ([], ""),
    ],
)
def test_scope_is_text_or_a_list(scope, kept):
    assert provider_of(scope=scope).scope == kept


@pytest.mark.parametrize(
    ("scope", "kept"),
    [
        ("email", "openid email"),
        ("email openid", "email openid"),
        (["openid"], "openid"),
        ("", "openid"),
        ("openid_x", "openid openid_x"),
    ],
)
def test_discovery_asks_for_openid(scope, kept):
    url = f"{URL}/.well-known/openid-configuration"
    said = {**GITHUB, "discovery_url": url, "scope": scope}

    assert parse(fake=said).providers["fake"] == Provider(
        "fake", **GITHUB, discovery_url=url, scope=kept
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("scope", "read:user"),
        ("authorize_url", "https://github.com/authorize"),
        ("access_url", "https://api.github.com/token"),
        ("emails_url", f"{URL}/emails"),
        ("emails_url", None),
        ("logout_url", f"{URL}/logout"),
        ("params", {"allow_signup": "false"}),
        ("token_endpoint_auth_method", "client_secret_basic"),
    ],
)
def test_settings_replace_what_is_known_of_a_provider(option, value):
    github = parse(github={**GITHUB, option: value}).providers["github"]

    assert github == replace(KNOWN["github"], **GITHUB, **{option: value})


@pytest.mark.parametrize("name", KNOWN)
def test_known_provider_needs_nothing_but_key_and_secret(name):
    assert parse(**{name: GITHUB}).providers[name] == replace(KNOWN[name], **GITHUB)


@pytest.mark.parametrize("name", ["a", "my-company", "my_company2", "x" * 50])
def test_provider_has_a_name_that_fits_a_url(name):
    assert parse(**{name: FAKE}).providers[name].id_field == f"{name}Id"


def test_secrets_are_not_shown():
    assert "told-to-nobody" not in repr(parse(fake=FAKE, github=GITHUB))


def test_settings_of_the_environment(monkeypatch):
    url = f"{URL}/.well-known/openid-configuration"
    environment = {
        "redirect": "/after-login",
        "origins": json.dumps(["https://app.example"]),
        "base_url": "https://records.example",
        "github__key": "Iv1.8a61f9b3a7aba766",
        "github__secret": "0123456789",
        "github__scope": "read:user user:email",
        "discord__key": "1129474810948919346",
        "discord__secret": "12345678",
        "discord__scope": '["identify"]',
        "company__key": "x",
        "company__secret": "true story",
        "company__discovery_url": url,
        "company__params__prompt": "login",
        "company__token_endpoint_auth_method": "client_secret_post",
    }

    for name, value in environment.items():
        monkeypatch.setenv(f"FLASK_RECORDS_AUTHENTICATION__oauth__{name}", value)

    app = Flask("tests")
    app.config.from_prefixed_env()
    oauth = app.config["RECORDS_AUTHENTICATION"]["oauth"]

    assert OAuthSettings.parse(oauth, "OAUTH") == parse(
        redirect="/after-login",
        origins=["https://app.example"],
        base_url="https://records.example",
        github={
            "key": "Iv1.8a61f9b3a7aba766",
            "secret": "0123456789",
            "scope": "read:user user:email",
        },
        discord={
            "key": "1129474810948919346",
            "secret": "12345678",
            "scope": "identify",
        },
        company={
            "key": "x",
            "secret": "true story",
            "discovery_url": url,
            "params": {"prompt": "login"},
            "token_endpoint_auth_method": "client_secret_post",
        },
    )
