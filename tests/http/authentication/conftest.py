"""A client of an application whose only user is Ann, and files with keys."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.authentication import make_records, serving
from tests.http.authentication.token_files import written


@pytest.fixture(scope="package")
def client():
    with serving(make_records()) as client:
        yield client


@pytest.fixture(scope="package")
def keys(tmp_path_factory):
    """The paths of a private key of each kind, beside which is the public one."""
    folder = tmp_path_factory.mktemp("keys")
    made = {
        "RS256": rsa.generate_private_key(65537, 2048),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }
    return {name: written(folder, name, key) for name, key in made.items()}
