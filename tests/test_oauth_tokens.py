from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa

from .conftest import running
from .oauth_providers import ABSENT
from .oauth_providers import ADA
from .oauth_providers import ADA_USER
from .oauth_providers import answer_of
from .oauth_providers import as_json
from .oauth_providers import CLIENT_SECRET
from .oauth_providers import error_of
from .oauth_providers import HOME
from .oauth_providers import JWS
from .oauth_providers import KEY
from .oauth_providers import make_members
from .oauth_providers import moved
from .oauth_providers import OpenIDProvider
from .oauth_providers import present
from .oauth_providers import public_key
from .oauth_providers import serving_logins
from .oauth_providers import SIGNING_KEY
from .oauth_providers import token_of

SILENT = "Fake is not responding. Try again later."
INVALID = "Fake sent an invalid response. Try again later."
EMAIL_TAKEN = (
    "There is a user with this email already. Log in as this user, then connect Fake."
)

CLAIMS = {
    "name": "Ada Lovelace",
    "picture": "https://img.example/ada.png",
    "email": "ada@example.com",
    "email_verified": True,
}

TENANT = "5f2c1a34-0000-4000-8000-9b8d7c6e5f4a"

OTHER_KEY = rsa.generate_private_key(65537, 2048)


# A provider that we did not write


class Mock:
    """The provider of the package oidc-provider-mock."""

    def __init__(self, url):
        self.url = url
        self.settings = {
            "key": KEY,
            "secret": CLIENT_SECRET,
            "scope": "openid email profile",
            "discovery_url": f"{url}/.well-known/openid-configuration",
        }

    def know(self, sub, **claims):
        """Let it know somebody, or something else of him."""
        requests.put(f"{self.url}/users/{sub}", json=claims).raise_for_status()


@contextmanager
def running_mock():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    options = ["--host", "127.0.0.1", "--require-nonce"]

    with subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(port, process)
            yield Mock(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


def wait_for(port, process):
    """Wait until a process listens."""
    deadline = time.monotonic() + 30

    while time.monotonic() < deadline:
        assert process.poll() is None

        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)

    raise TimeoutError


@pytest.fixture(scope="module")
def mock():
    with running_mock() as mock:
        mock.know("ada", **CLAIMS)
        yield mock


@pytest.fixture
def records():
    return make_members()


@pytest.fixture
def mock_site(mock, records):
    with serving_logins({"fake": mock}, records=records) as site:
        yield site


def log_in_at_form(site, sub, started=None):
    """Return the answer to a login with the provider's form."""
    form = site.follow(started or site.start())
    assert (form.status_code, 'name="sub"' in form.text) == (200, True)
    back = site.browser.post(form.url, data={"sub": sub}, allow_redirects=False)
    return site.follow(back)


def start_with(site, token):
    """Return where a login begins that the user of a token connects."""
    return site.visit(site.connect(token).json()["url"])


def test_login_makes_a_user_of_the_claims(mock_site):
    answer = log_in_at_form(mock_site, "ada")

    ada = {**ADA_USER, "fakeId": "ada"}
    assert answer_of(answer)[0] == HOME
    assert mock_site.users() == [ada]
    assert mock_site.caller(token_of(answer)) == ada


def test_second_login_finds_the_user_and_refreshes_name_and_avatar(mock, mock_site):
    mock.know("bob", **{**CLAIMS, "name": "Robert"})
    log_in_at_form(mock_site, "bob")
    changed = {"name": "Bob", "picture": "https://img.example/bob.png"}
    mock.know("bob", **{**CLAIMS, **changed, "email": "bob@example.com"})

    answer = log_in_at_form(mock_site, "bob")

    bob = {"fakeId": "bob", "name": "Bob", "avatar": "https://img.example/bob.png"}
    assert mock_site.users() == [{**ADA_USER, **bob}]
    assert mock_site.caller(token_of(answer)) == {**ADA_USER, **bob}


@pytest.mark.parametrize(
    ("verified", "email"),
    [
        ({"email_verified": True}, "eve@example.com"),
        ({"email_verified": False}, None),
        ({"email_verified": None}, None),
        ({}, None),
    ],
)
def test_email_is_kept_if_it_is_verified(mock, mock_site, verified, email):
    mock.know("eve", email="eve@example.com", **verified)

    log_in_at_form(mock_site, "eve")

    assert [user["email"] for user in mock_site.users()] == [email]


def test_login_is_linked_to_the_user_of_a_token(mock_site):
    id, token = mock_site.register(email="ann@example.com", name="Ann")

    answer = log_in_at_form(mock_site, "ada", start_with(mock_site, token))

    ann = {"id": id, "email": "ann@example.com", "name": "Ann", "fakeId": "ada"}
    assert mock_site.users() == [{**ADA_USER, **ann}]
    assert mock_site.caller(token_of(answer))["id"] == id


def test_linked_login_needs_no_token_any_more(mock_site):
    id, token = mock_site.register(email="ann@example.com")
    log_in_at_form(mock_site, "ada", start_with(mock_site, token))

    answer = log_in_at_form(mock_site, "ada")

    assert mock_site.caller(token_of(answer))["id"] == id


def test_login_is_never_linked_by_its_email(mock_site):
    mock_site.register(email=CLAIMS["email"])
    before = mock_site.users()

    answer = log_in_at_form(mock_site, "ada")

    assert answer_of(answer) == (HOME, {"error": EMAIL_TAKEN})
    assert mock_site.users() == before


def test_hooks_run_and_events_are_sent(mock_site, records):
    heard = []
    records.events()(lambda event, record, context: heard.append(event))
    records["users"].before("create")(
        lambda method, context: context.data.update(name="Countess")
    )

    log_in_at_form(mock_site, "ada")

    assert heard == ["created", "login"]
    assert [user["name"] for user in mock_site.users()] == ["Countess"]


def test_login_that_is_denied_at_the_form_is_an_error(mock_site):
    started = mock_site.start()
    url = started.headers["Location"]

    back = mock_site.browser.post(url, data={"action": "deny"}, allow_redirects=False)

    # It forgets the state, so that nobody can tell which login was denied.
    assert "error=access_denied" in back.headers["Location"]
    assert error_of(mock_site.follow(back))
    assert mock_site.users() == []


# ID tokens


@pytest.fixture
def provider():
    provider = OpenIDProvider()

    with running(provider) as provider.url:
        yield provider


@pytest.fixture
def site(provider):
    with serving_logins({"fake": provider}) as site:
        yield site


class Ago(int):
    """A time that is some seconds ago when the test runs, not when it is read."""


def at(seconds):
    """A claim of a time from now."""
    return int(time.time()) + seconds


def ids(site):
    return [user["fakeId"] for user in site.users()]


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"aud": [KEY]},
        {"azp": KEY},
        {"aud": [KEY, "another"], "azp": KEY},
        {"acr": "1", "amr": ["pwd"], "auth_time": at(-5)},
        {"exp": Ago(5), "iat": Ago(-5)},
        {"exp": Ago(-1), "iat": Ago(0)},
        {"exp": Ago(-30), "iat": Ago(0), "nbf": Ago(0)},
    ],
    ids=str,
)
def test_token_that_is_right_logs_in(site, provider, claims):
    provider.forged = {
        name: at(-value) if isinstance(value, Ago) else value
        for name, value in claims.items()
    }

    answer = site.log_in()

    assert error_of(answer) is None
    assert ids(site) == ["s-1"]


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": ABSENT},
        {"iss": None},
        {"iss": []},
        {"aud": "another"},
        {"aud": "another", "azp": KEY},
        {"aud": ["another"], "azp": KEY},
        {"aud": ["another", "third"], "azp": KEY},
        {"aud": [KEY, "another"], "azp": "another"},
        {"aud": ""},
        {"aud": []},
        {"aud": None},
        {"aud": {KEY: 1}},
        {"aud": ABSENT},
        {"azp": "another"},
        {"nonce": "of another login"},
        {"nonce": ""},
        {"nonce": None},
        {"nonce": ABSENT},
        {"nonce": ABSENT, "nonce_supported": False},
        {"exp": at(-600)},
        {"exp": 0},
        {"exp": "never"},
        {"exp": None},
        {"exp": ABSENT},
        {"iat": at(6000)},
        {"iat": ABSENT},
        {"nbf": at(6000)},
        {"sub": ABSENT},
        {"sub": None},
        {"sub": ""},
        {"sub": 1},
        {"sub": ["s-1"]},
        {"at_hash": "of another token"},
    ],
    ids=lambda claims: str({k: "-" if v is ABSENT else v for k, v in claims.items()}),
)
def test_token_that_says_something_wrong_is_refused(site, provider, claims):
    provider.forged = claims

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})
    assert site.users() == []


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"kid": "1"},
        {"kid": "1", "jwk": public_key("1", OTHER_KEY)},
        {"jwk": public_key("2", OTHER_KEY)},
        {"kid": "2", "jku": "https://evil.example/keys"},
    ],
)
def test_token_of_another_key_is_refused(site, provider, header):
    provider.key, provider.header = OTHER_KEY, header

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize("header", [{}, {"kid": "1"}])
@pytest.mark.parametrize("listed", [["RS256"], ["RS256", "none"], ["none"], None])
def test_token_without_a_signature_is_refused(provider, header, listed):
    """Even if the provider says that it gives such tokens."""
    provider.key, provider.algorithm, provider.header = None, "none", header
    provider.metadata = {"id_token_signing_alg_values_supported": listed}

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert answer.status_code == 302
    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize("header", [{}, {"kid": "1"}])
@pytest.mark.parametrize("listed", [["RS256"], ["RS256", "HS256"], None])
@pytest.mark.parametrize("secret", ["of the application", "of the public key"])
def test_token_that_is_signed_with_a_secret_is_refused(
    provider, header, listed, secret
):
    published = json.dumps(provider.keys(None).json).encode()
    provider.key = CLIENT_SECRET if secret == "of the application" else published
    provider.algorithm, provider.header = "HS256", header
    provider.metadata = {"id_token_signing_alg_values_supported": listed}

    with serving_logins({"fake": provider}) as site:
        answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


def test_token_of_another_algorithm_than_announced_is_refused(site, provider):
    provider.algorithm = "RS512"

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


def giving(provider, change):
    """A token endpoint that gives something else for an ID token."""

    def token(request):
        said = provider.token(request).json
        return as_json(present({**said, "id_token": change(said["id_token"])}))

    return token


@pytest.mark.parametrize(
    "change",
    [
        lambda token: ABSENT,
        lambda token: None,
        lambda token: 1,
        lambda token: [token],
        lambda token: "",
        lambda token: "a.b.c",
        lambda token: f"{token}.a.b",
        lambda token: token.rpartition(".")[0] + ".",
        lambda token: token[:-9] + ("A" if token[-9] != "A" else "B") + token[-8:],
        lambda token: JWS.encode(b"[]", SIGNING_KEY, "RS256", {"kid": "1"}),
        lambda token: JWS.encode(b"1", SIGNING_KEY, "RS256", {"kid": "1"}),
        lambda token: JWS.encode(b"\xff", SIGNING_KEY, "RS256", {"kid": "1"}),
        lambda token: "eyJhbGciOltdfQ.e30.AA",
        lambda token: "W10.e30.AA",
    ],
)
def test_what_is_no_token_is_refused(site, provider, change):
    provider.answers["token"] = giving(provider, change)

    answer = site.log_in()

    assert (answer.status_code, site.users()) == (302, [])
    assert answer_of(answer) == (HOME, {"error": INVALID})


def test_token_of_another_login_is_refused(site, provider):
    seen = []
    provider.answers["token"] = giving(
        provider, lambda token: seen.append(token) or token
    )
    site.log_in()
    provider.answers["token"] = giving(provider, lambda token: seen[0])

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


# Profiles besides the token


def test_profile_adds_to_the_token(site, provider):
    provider.answers["profile"] = as_json({"sub": "s-1", **CLAIMS})

    site.log_in()

    assert site.users() == [{**ADA_USER, "fakeId": "s-1"}]


@pytest.mark.parametrize("sub", ["s-2", "S-1", "", None, 1, ["s-1"]], ids=repr)
def test_profile_of_somebody_else_is_refused(site, provider, sub):
    provider.answers["profile"] = as_json({"sub": sub, **CLAIMS})

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})
    assert site.users() == []


def test_what_the_token_says_counts(site, provider):
    provider.forged = {"email": "ada@example.com", "email_verified": False}
    provider.answers["profile"] = as_json({"sub": "s-1", **CLAIMS})

    site.log_in()

    assert [user["email"] for user in site.users()] == [None]


@pytest.mark.parametrize("endpoint", [ABSENT, None])
def test_provider_without_a_profile_is_enough(provider, endpoint):
    provider.metadata = {"userinfo_endpoint": endpoint}
    provider.forged = CLAIMS

    with serving_logins({"fake": provider}) as site:
        site.log_in()

        assert site.users() == [{**ADA_USER, "fakeId": "s-1"}]


@pytest.mark.parametrize(
    "said", [{}, {"email_verified": None}, {"email_verified": "yes"}], ids=str
)
def test_email_is_left_out_unless_the_provider_calls_it_verified(site, provider, said):
    provider.answers["profile"] = as_json({"sub": "s-1", "email": ADA["email"], **said})

    site.log_in()

    assert [user["email"] for user in site.users()] == [None]


# Keys


def test_unknown_key_is_fetched_once_it_is_used(site, provider):
    site.log_in()
    provider.key, provider.header = OTHER_KEY, {"kid": "2"}
    provider.published = {"2": OTHER_KEY}

    answers = [site.log_in(), site.log_in()]

    assert [error_of(answer) for answer in answers] == [None, None]


def test_keys_are_fetched_once_as_long_as_they_fit(site, provider):
    fetched = []
    provider.answers["keys"] = lambda request: (
        fetched.append(request.path) or provider.keys(request)
    )

    for _ in range(3):
        site.log_in()

    assert fetched == ["/keys"]


def test_key_that_is_not_published_is_refused(site, provider):
    provider.key, provider.header = OTHER_KEY, {"kid": "2"}

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


def test_key_that_was_taken_back_is_refused_once_another_is_used(site, provider):
    site.log_in()
    provider.key, provider.header = OTHER_KEY, {"kid": "2"}
    provider.published = {"2": OTHER_KEY}
    site.log_in()
    provider.key, provider.header = SIGNING_KEY, {"kid": "1"}

    answer = site.log_in()

    assert answer_of(answer) == (HOME, {"error": INVALID})


@pytest.mark.parametrize(
    "keys",
    [[], {}, {"keys": []}, {"keys": [{}]}, {"keys": 1}, {"keys": [1]}, None, "x"],
)
def test_keys_that_make_no_sense_are_an_error_for_people(site, provider, keys):
    provider.answers["keys"] = as_json(keys)

    answer = site.log_in()

    assert answer.status_code == 302
    assert answer_of(answer) == (HOME, {"error": INVALID})


# The configuration of a provider


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
