from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import uuid

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.asymmetric import rsa
from flask import Flask
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from jwt.api_jws import encode

from flask_records import NotAuthenticated
from flask_records.authentication.tokens import MAX_VERIFIED
from flask_records.authentication.tokens import Tokens
from flask_records.authentication.tokens import VerifiedTokens

from .authentication import ABSENT
from .authentication import bearer
from .authentication import CHEAP
from .authentication import log_in
from .authentication import LOGIN
from .authentication import make_records
from .authentication import SECRET
from .authentication import serving
from .authentication import signed
from .waiting import wait_until

OLDER = "o" * 32
OLDEST = "p" * 32

AUDIENCE = "jwt audience invalid. expected: https://yourdomain.com"
ISSUER = "jwt issuer invalid. expected: feathers"
GONE = "The user of the token is gone."

HUGE = 10**400

INFINITY = float("inf")
NAN = float("nan")

NOT_TEXT = [True, False, [], ["feathers"], {}, {"a": 1}, 0, -1, 1.5, NAN, HUGE]
NOT_A_TIME = ["", "x", "1", "9999999999", True, [], [1], {}, {"a": 1}, NAN, INFINITY]
NOBODY = ["", "2", True, [], ["1"], {}, {"$ne": 2}, 1.5, NAN, INFINITY, HUGE]


class NoMarks:
    """A store of revocations that has none."""

    def put(self, key, issued_before, expires):
        raise AssertionError

    def latest(self, *keys):
        return 0


@pytest.fixture(scope="module")
def client():
    with serving(make_records()) as client:
        yield client


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """The paths of a private and a public key of each kind."""
    folder = tmp_path_factory.mktemp("keys")
    made = {
        "RS256": rsa.generate_private_key(65537, 2048),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "ES384": ec.generate_private_key(ec.SECP384R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }
    return {name: written(folder, name, key) for name, key in made.items()}


def written(folder, name, key):
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    paths = {
        "private_key": folder / f"{name}.private.pem",
        "public_key": folder / f"{name}.public.pem",
    }
    paths["private_key"].write_bytes(private)
    paths["public_key"].write_bytes(public)
    return {option: str(path) for option, path in paths.items()}


def segment(value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def short(value):
    return ascii(value)[:12]


def refusal(client, token):
    response = client.get("/secrets", headers=bearer(token))
    return response.status_code, response.json.get("message")


def is_accepted(client, token):
    return client.get("/secrets", headers=bearer(token)).status_code == 200


def test_header_and_claims_of_a_token(client):
    before = int(time.time())

    token = log_in(client)

    claims = jwt.decode(token, options={"verify_signature": False})
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "access"}
    assert before <= claims["iat"] <= time.time()
    assert uuid.UUID(claims["jti"]).version == 8
    assert claims == {
        "iat": claims["iat"],
        "exp": claims["iat"] + 86400,
        "aud": "https://yourdomain.com",
        "iss": "feathers",
        "sub": "1",
        "jti": claims["jti"],
    }


def test_each_token_has_its_own_jti(client):
    claims = [
        jwt.decode(log_in(client), options={"verify_signature": False})
        for _ in range(2)
    ]

    assert claims[0]["jti"] != claims[1]["jti"]


@pytest.mark.parametrize(
    ("lifetime", "seconds"),
    [
        ("15m", 900),
        ("15 m", 900),
        ("45s", 45),
        ("12h", 43200),
        ("1d", 86400),
        ("2w", 1209600),
        (900, 900),
        ("900", 900),
        (None, 86400),
    ],
)
def test_token_lives_as_long_as_the_settings_say(lifetime, seconds):
    options = {"secret": SECRET, "passwords": CHEAP, "lifetime": lifetime}

    with serving(make_records(), options) as client:
        claims = client.post("/authentication", json=LOGIN).json["authentication"]

    assert claims["payload"]["exp"] - claims["payload"]["iat"] == seconds


def test_audience_and_issuer_of_the_settings():
    options = {"secret": SECRET, "passwords": CHEAP, "audience": "a", "issuer": "i"}

    with serving(make_records(), options) as client:
        claims = client.post("/authentication", json=LOGIN).json["authentication"]
        answers = [refusal(client, signed(aud="a")), refusal(client, signed(iss="i"))]

    assert (claims["payload"]["aud"], claims["payload"]["iss"]) == ("a", "i")
    assert answers == [
        (401, "jwt issuer invalid. expected: i"),
        (401, "jwt audience invalid. expected: a"),
    ]


@pytest.mark.parametrize(
    "algorithm",
    ["none", "None", "NONE", "nOnE", "", None, [], ["HS256"], {}, 1, "RS256", "HS512"],
)
@pytest.mark.parametrize("is_signed", [True, False])
def test_token_of_another_algorithm_is_refused(client, algorithm, is_signed):
    _, payload, signature = signed().split(".")
    header = segment({"alg": algorithm, "typ": "access"})
    token = f"{header}.{payload}.{signature if is_signed else ''}"

    assert refusal(client, token) == (401, "invalid algorithm")


def test_token_signed_with_another_algorithm_of_the_same_secret_is_refused(client):
    secret = "s" * 64
    options = {"secret": secret, "passwords": CHEAP}

    with serving(make_records(), options) as client:
        answer = refusal(client, signed(secret, "HS512"))

    assert answer == (401, "invalid algorithm")


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_public_key_is_no_secret(keys, algorithm):
    options = {"passwords": CHEAP, "algorithm": algorithm, **keys[algorithm]}
    _, payload, _ = signed().split(".")
    text = f"{segment({'alg': 'HS256', 'typ': 'access'})}.{payload}"

    with open(keys[algorithm]["public_key"], "rb") as file:
        signature = hmac.digest(file.read(), text.encode(), hashlib.sha256)

    with serving(make_records(), options) as client:
        answer = refusal(client, f"{text}.{segment(signature)}")

    assert answer == (401, "invalid algorithm")


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [
        ("RS256", "RS256"),
        ("RS512", "RS256"),
        ("PS256", "RS256"),
        ("ES256", "ES256"),
        ("ES384", "ES384"),
        ("EdDSA", "EdDSA"),
    ],
)
def test_tokens_of_key_files(keys, algorithm, key):
    options = {"passwords": CHEAP, "algorithm": algorithm, **keys[key]}

    with serving(make_records(), options) as client:
        token = log_in(client)
        status = client.get("/secrets", headers=bearer(token)).status_code

    assert status == 200
    assert jwt.get_unverified_header(token) == {"alg": algorithm, "typ": "access"}


def test_keys_can_be_text(keys):
    options = {"passwords": CHEAP, "algorithm": "ES256"}

    for name, path in keys["ES256"].items():
        with open(path, encoding="ascii") as file:
            options[name] = file.read()

    with serving(make_records(), options) as client:
        assert is_accepted(client, log_in(client))


def test_key_of_another_pair_signs_nothing(keys):
    options = {"passwords": CHEAP, "algorithm": "ES256", **keys["ES256"]}
    other = ec.generate_private_key(ec.SECP256R1())

    with serving(make_records(), options) as client:
        assert refusal(client, signed(other, "ES256")) == (401, "invalid signature")


def test_token_of_another_secret_is_refused(client):
    assert refusal(client, signed("x" * 32)) == (401, "invalid signature")


@pytest.mark.parametrize("part", [0, 1, 2])
def test_token_with_a_part_of_another_one_is_refused(client, part):
    parts = signed().split(".")
    other = signed(headers={"kid": "1"}, sub="2", exp=int(time.time()) + 99)
    parts[part] = other.split(".")[part]

    assert refusal(client, ".".join(parts)) == (401, "invalid signature")


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"exp": 1}, "jwt expired"),
        ({"exp": int(time.time()) - 1}, "jwt expired"),
        ({"exp": -HUGE}, "jwt expired"),
        ({"nbf": int(time.time()) + 3600}, "jwt not active"),
        ({"nbf": HUGE}, "jwt not active"),
        ({"aud": "https://other.example"}, AUDIENCE),
        ({"aud": ["https://other.example"]}, AUDIENCE),
        ({"aud": "https://yourdomain.com.evil.test"}, AUDIENCE),
        ({"aud": "https://yourdomain.co"}, AUDIENCE),
        ({"iss": "other"}, ISSUER),
        ({"iss": "Feathers"}, ISSUER),
        ({"sub": "2"}, GONE),
        ({"sub": "ann@example.com"}, GONE),
        ({"sub": "1 OR 1=1"}, GONE),
        ({"sub": "\ud800"}, "invalid token"),
        ({"sub": "\x00"}, GONE),
    ],
    ids=short,
)
def test_token_that_says_something_wrong_is_refused(client, claims, message):
    assert refusal(client, signed(**claims)) == (401, message)


@pytest.mark.parametrize("claim", ["iat", "exp", "aud", "iss", "sub", "jti"])
@pytest.mark.parametrize("value", [ABSENT, None], ids=["absent", "null"])
def test_claim_is_required(client, claim, value):
    assert refusal(client, signed(**{claim: value})) == (401, f"jwt has no {claim}")


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        *((name, value) for name in ("aud", "iss", "jti") for value in NOT_TEXT),
        *((name, value) for name in ("iat", "exp", "nbf") for value in NOT_A_TIME),
        *(("sub", value) for value in NOBODY),
        ("iat", HUGE),
        ("iat", -HUGE),
        ("exp", HUGE),
    ],
    ids=short,
)
def test_claim_of_a_wrong_type_is_refused(client, claim, value):
    assert refusal(client, signed(**{claim: value}))[0] == 401


@pytest.mark.parametrize(
    "claims",
    [
        {"nbf": 0},
        {"nbf": int(time.time()) - 1},
        {"sub": 1},
        {"iat": int(time.time()) + 500},
        {"aud": ["https://other.example", "https://yourdomain.com"]},
        {"admin": True},
        {"headers": {"typ": "JWT"}},
        {"headers": {"typ": None}},
    ],
)
def test_token_that_servers_of_this_interface_accept(client, claims):
    assert is_accepted(client, signed(**claims))


@pytest.mark.parametrize(
    "kid", ["../../../../dev/null", "/etc/passwd", "' UNION SELECT 'x", "", "\x00"]
)
def test_kid_chooses_no_key(client, kid):
    header = segment({"alg": "HS256", "typ": "access", "kid": kid})
    text = f"{header}.{signed().split('.')[1]}"
    chosen = [hmac.digest(key, text.encode(), hashlib.sha256) for key in (b"", b"x")]

    assert is_accepted(client, signed(headers={"kid": kid}))
    assert [refusal(client, f"{text}.{segment(one)}") for one in chosen] == [
        (401, "invalid signature"),
        (401, "invalid signature"),
    ]


@pytest.mark.parametrize("name", ["jku", "x5u", "jwk", "x5c"])
def test_token_brings_no_key(client, name):
    key = {"kty": "oct", "k": segment(b"x" * 32), "alg": "HS256"}
    header = {name: key if name == "jwk" else "https://evil.test/keys"}

    answer = refusal(client, signed("x" * 32, headers=header))

    assert answer == (401, "invalid signature")


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "HS256", "kid": 1},
        {"alg": "HS256", "kid": None},
        {"alg": "HS256", "crit": ["exp"], "exp": 1},
        {"alg": "HS256", "crit": []},
        {"alg": "HS256", "b64": False, "crit": ["b64"]},
        [],
        1,
        None,
        b"",
        b"{",
        b"\xff",
        b"[" * 5000,
    ],
)
def test_header_that_is_none_is_refused(client, header):
    _, payload, signature = signed().split(".")

    answer = refusal(client, f"{segment(header)}.{payload}.{signature}")

    assert answer == (401, "invalid token")


@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b"1", b"null", b'"x"', b"\xff", b"[" * 3000]
)
def test_payload_that_is_none_is_refused(client, payload):
    assert refusal(client, encode(payload, SECRET, "HS256")) == (401, "invalid token")


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("garbage", "jwt malformed"),
        (".", "jwt malformed"),
        ("...", "jwt malformed"),
        ("a.b.c.d", "jwt malformed"),
        ("..", "invalid token"),
        ("a.b.c", "invalid token"),
        ("=.=.=", "invalid token"),
        ("é.è.ê", "invalid token"),
        ("\xff.\xfe.\x80", "invalid token"),
        ("a" * 2**20, "jwt malformed"),
        ("a." * 2**19, "jwt malformed"),
        (f"a.{'b' * 2**20}.c", "jwt malformed"),
    ],
    ids=short,
)
def test_garbage_is_no_token(client, token, message):
    posted = {"strategy": "jwt", "accessToken": token[: 2**20 - 100]}

    response = client.post("/authentication", json=posted)

    assert refusal(client, token) == (401, message)
    assert (response.status_code, response.json["message"]) == (401, message)


@pytest.mark.parametrize("padding", [2**14, 2**20])
def test_good_token_that_is_too_long_is_refused(client, padding):
    token = signed(padding="x" * padding)

    assert refusal(client, token) == (401, "jwt malformed")


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.characters(max_codepoint=255, blacklist_characters="\r\n"), max_size=50)
    | st.builds(".".join, st.lists(st.binary().map(segment), min_size=3, max_size=3))
)
def test_nobody_guesses_a_token(client, token):
    response = client.get("/secrets", headers={"Authorization": token})

    assert response.status_code == 401


@pytest.mark.parametrize(
    "name", ["access_token", "accessToken", "token", "Authorization", "jwt", "bearer"]
)
def test_token_in_the_query_string_is_none(client, name):
    response = client.get("/secrets", query_string={name: f"Bearer {signed()}"})

    assert response.status_code == 401
    assert response.json["message"] == "Not authenticated"


def test_token_of_a_removed_user_is_refused():
    with serving(make_records()) as client:
        token = log_in(client)
        assert client.delete("/users/1", headers=bearer(token)).status_code == 200

        answer = refusal(client, token)

    assert answer == (401, GONE)


@pytest.mark.parametrize("claim", ["jti", "sub"])
def test_revocations_know_no_token_of_halved_characters(claim):
    with serving(make_records(revocations=NoMarks())) as client:
        response = client.get("/secrets", headers=bearer(signed(**{claim: "\ud800"})))

    assert response.status_code < 500


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({"secret": SECRET, "secrets": [OLDER, OLDEST]}, {}),
        ({}, {"SECRET_KEY": SECRET, "SECRET_KEY_FALLBACKS": [OLDER, OLDEST]}),
        (
            {"secrets": [OLDER]},
            {"SECRET_KEY": SECRET, "SECRET_KEY_FALLBACKS": [OLDEST]},
        ),
        ({}, {"SECRET_KEY": SECRET.encode(), "SECRET_KEY_FALLBACKS": [OLDER, OLDEST]}),
    ],
)
def test_older_secrets_verify_and_do_not_sign(options, config):
    with serving(make_records(), {"passwords": CHEAP, **options}, **config) as client:
        token = log_in(client)
        tokens = [signed(SECRET), signed(OLDER), signed(OLDEST), signed("x" * 32)]
        accepted = [is_accepted(client, one) for one in tokens]

    assert accepted == [True, True, True, False]
    assert jwt.decode(token, SECRET, ["HS256"], audience="https://yourdomain.com")


def test_expired_token_of_an_older_secret_has_expired():
    options = {"secret": SECRET, "secrets": [OLDER], "passwords": CHEAP}

    with serving(make_records(), options) as client:
        assert refusal(client, signed(OLDER, exp=1)) == (401, "jwt expired")


def test_secret_of_the_settings_replaces_those_of_the_application():
    options = {"secret": SECRET, "passwords": CHEAP}
    config = {"SECRET_KEY": OLDER, "SECRET_KEY_FALLBACKS": [OLDEST]}

    with serving(make_records(), options, **config) as client:
        tokens = [signed(SECRET), signed(OLDER), signed(OLDEST)]
        accepted = [is_accepted(client, one) for one in tokens]

    assert accepted == [True, False, False]


def start(options, **config):
    app = Flask("tests")
    app.config.update(RECORDS_AUTHENTICATION=options, **config)
    make_records().init_app(app)


@pytest.mark.parametrize("config", [{}, {"SECRET_KEY": None}, {"SECRET_KEY": ""}])
@pytest.mark.parametrize("options", [None, {}, {"secret": None}, {"secret": ""}])
def test_app_without_a_secret_does_not_start(options, config):
    with pytest.raises(RuntimeError) as caught:
        start(options, **config)

    assert str(caught.value) == (
        "There is no secret to sign tokens with. Set RECORDS_AUTHENTICATION['secret'],"
        " or SECRET_KEY. Make one with: python -c 'import secrets;"
        " print(secrets.token_hex(32))', and keep it out of the source code."
    )


@pytest.mark.parametrize(
    ("length", "options", "config"),
    [
        (32, {"secret": "x" * 31}, {}),
        (32, {}, {"SECRET_KEY": "dev"}),
        (32, {}, {"SECRET_KEY": b"dev"}),
        (32, {"secret": SECRET, "secrets": ["old"]}, {}),
        (32, {}, {"SECRET_KEY": SECRET, "SECRET_KEY_FALLBACKS": ["old"]}),
        (48, {"secret": "x" * 47, "algorithm": "HS384"}, {}),
        (64, {"secret": "x" * 63, "algorithm": "HS512"}, {}),
    ],
)
def test_app_with_a_short_secret_does_not_start(length, options, config):
    with pytest.raises(RuntimeError) as caught:
        start(options, **config)

    assert str(caught.value) == (
        f"A secret of RECORDS_AUTHENTICATION is shorter than {length} bytes. Make one"
        " with: python -c 'import secrets; print(secrets.token_hex(32))', and keep it"
        " out of the source code."
    )


@pytest.mark.filterwarnings("ignore::jwt.InsecureKeyLengthWarning")
def test_short_secret_is_accepted_where_it_is_allowed():
    options = {"secret": "short", "passwords": CHEAP, "allow_short_secret": True}

    with serving(make_records(), options) as client:
        assert is_accepted(client, log_in(client))


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({"secret": 5}, {}),
        ({"secret": ["x" * 32]}, {}),
        ({}, {"SECRET_KEY": 5}),
        ({"secret": SECRET, "secrets": 5}, {}),
        ({"secret": SECRET, "secrets": [None]}, {}),
        ({}, {"SECRET_KEY": SECRET, "SECRET_KEY_FALLBACKS": 5}),
        ({"secret": "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZI"}, {}),
        ({"secret": f'{{"kty": "oct", "k": "{SECRET}"}}'}, {}),
        ({"secret": SECRET, "secrets": ["ssh-rsa " + "A" * 32]}, {}),
    ],
)
def test_what_can_be_no_secret_is_refused_at_start_up(options, config):
    with pytest.raises(RuntimeError, match="(?i)secret"):
        start(options, **config)


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({"secret": SECRET, "secrets": OLDER}, {}),
        ({}, {"SECRET_KEY": SECRET, "SECRET_KEY_FALLBACKS": OLDER}),
    ],
)
@pytest.mark.parametrize("is_short_allowed", [True, False])
def test_letters_of_an_older_secret_are_no_secrets(options, config, is_short_allowed):
    with pytest.raises(RuntimeError, match="list"):
        start({**options, "allow_short_secret": is_short_allowed}, **config)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("algorithm", "none", "is 'none'. It can be: HS256, HS384, HS512, RS256"),
        ("algorithm", "hs256", "is 'hs256'. It can be: HS256, HS384, HS512, RS256"),
        ("algorithm", 5, "is a int, not a str."),
        ("audience", ["a"], "is a list, not a str."),
        ("audience", "", "is empty."),
        ("issuer", 5, "is a int, not a str."),
        *(
            ("lifetime", value, f"is {value!r}. It is a number of seconds, or like")
            for value in (0, "0", -5, "1.5h", "1y", "d", "", " 1d", True, 1.5, [])
        ),
    ],
)
def test_setting_of_tokens_that_is_wrong_is_refused(option, value, message):
    with pytest.raises(RuntimeError) as caught:
        start({"secret": SECRET, option: value})

    assert f"RECORDS_AUTHENTICATION['{option}'] {message}" in str(caught.value)


@pytest.mark.parametrize("option", ["private_key", "public_key"])
def test_algorithm_of_keys_needs_both(keys, option):
    options = {"algorithm": "RS256", **keys["RS256"], option: None}

    with pytest.raises(RuntimeError) as caught:
        start(options)

    assert str(caught.value) == (
        f"RS256 needs RECORDS_AUTHENTICATION['{option}']: the path of a PEM file."
    )


@pytest.mark.parametrize("option", ["private_key", "public_key"])
@pytest.mark.parametrize(
    "value", ["nowhere.pem", "/", "\0", __file__, "-----BEGIN PUBLIC KEY-----", "ES384"]
)
@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_wrong_key_file_is_refused_at_start_up(keys, algorithm, option, value):
    wrong = keys[value][option] if value in keys else value
    options = {"algorithm": algorithm, **keys[algorithm], option: wrong}

    with pytest.raises(RuntimeError) as caught:
        start(options)

    assert str(caught.value) == (
        f"RECORDS_AUTHENTICATION['{option}'] is not a PEM key of {algorithm}, nor the"
        " path of one."
    )


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_public_key_that_should_sign_is_refused_at_start_up(keys, algorithm):
    public = keys[algorithm]["public_key"]
    options = {"algorithm": algorithm, "private_key": public, "public_key": public}

    with pytest.raises(RuntimeError, match="private_key"):
        start(options)


def test_private_key_in_the_place_of_a_public_one_is_refused_at_start_up(keys):
    private = keys["RS256"]["private_key"]
    options = {"algorithm": "RS256", "private_key": private, "public_key": private}

    with pytest.raises(RuntimeError, match="public_key"):
        start(options)


def test_keys_of_two_pairs_are_refused_at_start_up(keys, tmp_path):
    other = written(tmp_path, "other", ec.generate_private_key(ec.SECP256R1()))
    options = {"algorithm": "ES256", **keys["ES256"], "public_key": other["public_key"]}

    with pytest.raises(RuntimeError, match="public_key"):
        start(options)


def test_path_of_a_key_is_relative_to_the_instance_folder(keys, tmp_path):
    app = Flask("tests", instance_path=str(tmp_path))
    written(tmp_path, "here", ed25519.Ed25519PrivateKey.generate())
    app.config["RECORDS_AUTHENTICATION"] = {
        "algorithm": "EdDSA",
        "private_key": "here.private.pem",
        "public_key": "here.public.pem",
    }
    records = make_records()

    records.init_app(app)

    with app.app_context():
        tokens = records.authentication().settings.tokens

    token, payload = tokens.create_token(1, token_id="x")
    assert tokens.verify_token(token) == payload


def test_remembered_token_expires():
    with serving(make_records()) as client:
        claims = {"exp": int(time.time()) + 2}
        token = signed(**claims)
        assert is_accepted(client, token)
        wait_until(lambda: time.time() >= claims["exp"])

        assert refusal(client, token) == (401, "jwt expired")


def test_remembered_token_is_that_of_its_keys():
    tokens, others = Tokens(SECRET, (SECRET,)), Tokens(OLDER, (OLDER,))
    token, payload = tokens.create_token(1, token_id="x")
    assert tokens.verify_token(token) == payload

    with pytest.raises(NotAuthenticated, match="invalid signature"):
        others.verify_token(token)


def test_claims_of_a_remembered_token_are_nobody_elses_to_change():
    tokens = Tokens(SECRET, (SECRET,))
    token, payload = tokens.create_token(1, token_id="x")

    for _ in range(3):
        claims = tokens.verify_token(token)
        assert claims == payload
        claims["sub"] = "2"


def test_claims_that_can_be_changed_inside_are_not_remembered():
    verified = VerifiedTokens()
    verified.add(b"1", {"exp": time.time() + 60, "roles": ["admin"]})

    assert verified.find(b"1") is None


def test_only_so_many_tokens_are_remembered():
    verified, claims = VerifiedTokens(), {"exp": time.time() + 60}

    for number in range(MAX_VERIFIED + 1):
        verified.add(number.to_bytes(2), claims)

    assert verified.find((0).to_bytes(2)) is None
    assert verified.find(MAX_VERIFIED.to_bytes(2)) == claims
