"""Secrets and keys of tokens, checked at the start."""

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from flask import Flask

from flask_records import AuthenticationService, FlaskRecords
from tests.authentication import CHEAP, log_in, make_records, SECRET, serving, signed
from tests.http.authentication.token_files import (
    is_accepted,
    OLDER,
    public_file,
    written,
)

OLDEST = "p" * 32


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({"secret": SECRET, "secrets": [OLDER, OLDEST]}, {}),
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


def test_service_that_is_added_later_needs_a_secret_at_once():
    app = Flask("tests")
    records = FlaskRecords(app)

    with pytest.raises(RuntimeError, match="There is no secret to sign tokens with."):
        records.add("authentication", AuthenticationService())


OWN = "RECORDS_AUTHENTICATION['secret']"

KEEP = f" To leave SECRET_KEY as it is, set {OWN} to a new one."


@pytest.mark.parametrize(
    ("options", "config", "name", "cure"),
    [
        ({"secret": "x" * 31}, {}, OWN, ""),
        ({}, {"SECRET_KEY": "dev"}, "SECRET_KEY", KEEP),
        ({}, {"SECRET_KEY": b"dev"}, "SECRET_KEY", KEEP),
        ({"secret": SECRET, "secrets": ["old"]}, {}, f"An older secret of {OWN}", ""),
        (
            {},
            {"SECRET_KEY": SECRET, "SECRET_KEY_FALLBACKS": ["old"]},
            "An older secret of SECRET_KEY",
            KEEP,
        ),
    ],
)
def test_short_secret_is_called_by_its_name(options, config, name, cure):
    with pytest.raises(RuntimeError) as caught:
        start(options, **config)

    assert str(caught.value) == (
        f"{name} is shorter than 32 bytes, and signs tokens. Make one"
        " with: python -c 'import secrets; print(secrets.token_hex(32))', and keep it"
        f" out of the source code.{cure}"
    )


@pytest.mark.filterwarnings("ignore:The HMAC key is")
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
        ({"secret": SECRET, "secrets": ["ecdsa-sha2-nistp256" + "A" * 32]}, {}),
    ],
)
def test_what_can_be_no_secret_is_refused_at_start_up(options, config):
    with pytest.raises(RuntimeError, match="(?i)secret"):
        start(options, **config)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("audience", ["a"], "must be text, not ['a']."),
        ("audience", "", "must be text, not ''."),
        ("issuer", 5, "must be text, not 5."),
        *(
            (
                "lifetime",
                value,
                "must be a number of seconds, or like '15m', '12h', '1d', not"
                f" {value!r}.",
            )
            for value in (0, "0", -5, "1.5h", "1y", "d", "", " 1d", True, 1.5, [])
        ),
    ],
)
def test_setting_of_tokens_that_is_wrong_is_refused(option, value, message):
    with pytest.raises(RuntimeError) as caught:
        start({"secret": SECRET, option: value})

    assert f"RECORDS_AUTHENTICATION['{option}'] {message}" in str(caught.value)


@pytest.mark.parametrize(
    "value", ["nowhere.pem", "\0", __file__, "-----BEGIN PUBLIC KEY-----", "public"]
)
@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_wrong_key_file_is_refused_at_start_up(keys, algorithm, value):
    value = public_file(keys[algorithm]) if value == "public" else value

    with pytest.raises(RuntimeError) as caught:
        start({"private_key": value})

    assert str(caught.value) == (
        "RECORDS_AUTHENTICATION['private_key'] is not a private PEM key of RS256,"
        " ES256, EdDSA, nor the path of one."
    )


def test_secrets_beside_a_key_are_refused_at_start_up():
    with pytest.raises(RuntimeError, match="'secrets'] verify nothing beside"):
        start({"private_key": "private.pem", "secrets": [SECRET]})


def test_path_of_a_key_is_relative_to_the_instance_folder(keys, tmp_path):
    app = Flask("tests", instance_path=str(tmp_path))
    written(tmp_path, "here", ed25519.Ed25519PrivateKey.generate())
    app.config["RECORDS_AUTHENTICATION"] = {"private_key": "here.private.pem"}
    records = make_records()

    records.init_app(app)

    with app.app_context():
        tokens = records.authentication().settings.tokens

    token, payload = tokens.create_token(1, token_id="x")
    assert tokens.verify_token(token) == payload
