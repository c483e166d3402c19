"""A client with tokens, and files with keys."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.authentication import bearer
from tests.authentication import make_records
from tests.authentication import serving

OLDER = "o" * 32


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
