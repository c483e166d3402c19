"""Several authentication services and applications."""

from __future__ import annotations

import hashlib

import pytest
from argon2 import PasswordHasher
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from flask import Flask

from flask_records import AuthenticationService, FlaskRecords, SQLAlchemyService
from tests.authentication import (
    ANN,
    bearer,
    CHEAP,
    Echo,
    log_in,
    LOGIN,
    make_records,
    SECRET,
    serving,
)
from tests.http.authentication.authenticated import SETTINGS, start, USER
from tests.models import User


def two_doors():
    """An extension with a service for each of two authentication services."""
    records = make_records()
    admin = AuthenticationService(settings="RECORDS_ADMIN_AUTHENTICATION")
    records.add("admin/authentication", admin)
    records.add("admin/secrets", Echo(), authentication="/admin/authentication/")
    return records


@pytest.mark.parametrize(
    "config",
    [
        {"RECORDS_ADMIN_AUTHENTICATION": {"secret": "a" * 32, "passwords": CHEAP}},
        {"RECORDS_ADMIN_AUTHENTICATION": {**SETTINGS, "audience": "admins"}},
        {"RECORDS_ADMIN_AUTHENTICATION": {"passwords": CHEAP}, "SECRET_KEY": "a" * 32},
    ],
)
def test_each_authentication_service_accepts_its_own_tokens(config):
    paths = ["/secrets", "/admin/secrets"]

    with serving(two_doors(), **config) as client:
        tokens = log_in(client), log_in(client, "/admin/authentication")
        statuses = [
            [client.get(path, headers=bearer(token)).status_code for path in paths]
            for token in tokens
        ]

    assert statuses == [[200, 401], [401, 200]]


def test_services_that_would_accept_the_same_tokens_do_not_start():
    """Number 1 of the users may be number 1 of the admins."""
    app = Flask("tests")
    app.config["SECRET_KEY"] = SECRET

    with pytest.raises(
        RuntimeError, match="'admin/authentication' would accept tokens"
    ):
        two_doors().init_app(app)


LONG = "x" * 65


@pytest.mark.parametrize(
    ("own", "admin"),
    [
        ({"secret": SECRET}, {"secrets": [SECRET.encode()]}),
        ({"secret": SECRET}, {"secret": f"{SECRET}\0"}),
        ({"secret": SECRET}, {"secret": "a" * 32, "secrets": [SECRET]}),
        ({"secret": SECRET, "secrets": [b"a" * 32]}, {"secret": "a" * 32}),
        ({"secret": SECRET, "secrets": [b"b" * 32]}, {"secrets": ["b" * 32]}),
        ({"secret": LONG}, {"secrets": [hashlib.sha256(LONG.encode()).digest()]}),
        ({"secret": SECRET * 2}, {"secret": SECRET * 2, "algorithm": "HS512"}),
    ],
)
def test_services_with_one_secret_among_theirs_do_not_start(own, admin):
    config = {
        "RECORDS_AUTHENTICATION": own,
        "RECORDS_ADMIN_AUTHENTICATION": {"secret": "c" * 32, **admin},
    }

    with pytest.raises(
        RuntimeError, match="'admin/authentication' would accept tokens"
    ):
        start(two_doors(), **config)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_services_with_one_pair_of_keys_do_not_start(algorithm, tmp_path):
    """However the keys are written."""
    key = {
        "RS256": lambda: rsa.generate_private_key(65537, 2048),
        "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate,
    }[algorithm]()
    pem = {
        "private_key": key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ).decode(),
        "public_key": key.public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        .decode(),
    }
    paths = {name: str(tmp_path / name) for name in pem}

    for name, text in pem.items():
        (tmp_path / name).write_text(f"A key of ours\n{text}")

    settings = {"algorithm": algorithm, "passwords": CHEAP}
    config = {
        "RECORDS_AUTHENTICATION": {**settings, **pem},
        "RECORDS_ADMIN_AUTHENTICATION": {**settings, **paths},
    }

    with pytest.raises(
        RuntimeError, match="'admin/authentication' would accept tokens"
    ):
        start(two_doors(), **config)

    config["RECORDS_ADMIN_AUTHENTICATION"]["audience"] = "admins"
    assert start(two_doors(), **config)


def test_authentication_has_the_path_that_it_is_added_at():
    records = FlaskRecords()
    service = AuthenticationService("people", custom_hashing=True)
    records.add("v1/login", service)
    users = SQLAlchemyService(User, hidden=["password"])
    records.add("people", users, public=["create"]).before("create")(
        lambda method, context: context.bodies[0].update(
            password=PasswordHasher(1, 8, 1).hash(context.data["password"])
        )
    )

    with serving(records) as client:
        assert client.post("/people", json=ANN).status_code == 201

        token = log_in(client, "/v1/login")

        assert client.get("/people/1", headers=bearer(token)).json == USER
        assert client.post("/authentication", json=LOGIN).status_code == 404


def test_apps_of_one_extension_have_their_own_secrets():
    records = make_records()
    other = {"secret": "t" * 32, "passwords": CHEAP}

    with serving(records) as one, serving(records, other) as two:
        tokens = log_in(one), log_in(two)
        statuses = [
            [
                client.get("/secrets", headers=bearer(token)).status_code
                for token in tokens
            ]
            for client in (one, two)
        ]

    assert statuses == [[200, 401], [401, 200]]
