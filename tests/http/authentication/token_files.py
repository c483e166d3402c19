"""A client with tokens, and files with keys."""

import base64
import json

from cryptography.hazmat.primitives import serialization

from tests.authentication import bearer

OLDER = "o" * 32


def written(folder, name, key):
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    path = folder / f"{name}.private.pem"
    path.write_bytes(private)
    (folder / f"{name}.public.pem").write_bytes(public)
    return str(path)


def public_file(private):
    """The path of the public key of a private one."""
    return private.replace(".private.", ".public.")


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
