"""Hashes of passwords, and their checks."""

import bcrypt
import pytest
from argon2 import extract_parameters, Parameters, PasswordHasher, Type
from werkzeug.security import generate_password_hash

from flask_records import BadRequest
from flask_records.authentication.passwords import Passwords

CHEAP = {"memory": 64, "passes": 1, "min_length": 1}

PASSWORD = "correct horse"

ARGON2 = (
    "$argon2id$v=19$m=64,t=1,p=1$JH0JMiyecOedD/QWb3S0AQ"
    "$RD88Vgv5/uLA8R1kzN85Q3V8IVN8EvZSWv2Sa9OxwTU"
)

BCRYPT = "$2b$04$g9yEzyARSa3dD0dVd68IIeBvXY.AkV5zTI2OS1wrv4nVs0uRC6Ee2"

HASHES = {
    "argon2id": ARGON2,
    "argon2i": PasswordHasher(1, 64, 1, type=Type.I).hash(PASSWORD),
    "argon2d": PasswordHasher(1, 64, 1, type=Type.D).hash(PASSWORD),
    "bcrypt 2a": BCRYPT.replace("$2b$", "$2a$"),
    "bcrypt 2b": BCRYPT,
    "bcrypt 2y": BCRYPT.replace("$2b$", "$2y$"),
    "scrypt": generate_password_hash(PASSWORD, "scrypt:1024:8:1"),
    "pbkdf2": generate_password_hash(PASSWORD, "pbkdf2:sha256:10"),
    "pbkdf2 sha512": generate_password_hash(PASSWORD, "pbkdf2:sha512:10"),
}
"""Hashes of the password that an application can have."""

MALFORMED = [
    "",
    "\ud800",
    PASSWORD,
    "md5$salt$5f4dcc3b5aa765d61d8327deb882cf99",
    "$argon2",
    "$argon2x$" + ARGON2[10:],
    ARGON2[:-5],
    ARGON2 + "é",
    ARGON2.replace("m=64", "m=0"),
    ARGON2.replace("m=64", "m=99999999999999999999"),
    "$2b$",
    BCRYPT[:-1],
    BCRYPT + "x",
    BCRYPT[:7] + "é" * 53,
    BCRYPT.replace("$04$", "$99$"),
    "scrypt:",
    "scrypt:a:b:c$salt$00",
    "scrypt:1024:8:1$salt$é",
    "scrypt:1073741824:8:1$salt$00",
    "pbkdf2:",
    "pbkdf2:sha256:0$salt$00",
    "pbkdf2:nothing:1$salt$00",
    "pbkdf2:sha256:1$salt$é",
    "pbkdf2:sha256:99999999999999999999$salt$00",
]


@pytest.fixture
def passwords():
    return Passwords(**CHEAP)


def bcrypted(password):
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()


@pytest.mark.parametrize(
    ("costs", "parameters"),
    [({}, (2, 19 * 1024, 1)), ({"memory": 128, "passes": 3}, (3, 128, 1))],
)
def test_hash_is_argon2id_of_the_configured_cost(costs, parameters):
    hash = Passwords(**costs).hash(PASSWORD)

    assert extract_parameters(hash) == Parameters(Type.ID, 19, 16, 32, *parameters)


def test_each_hash_of_a_password_has_its_own_salt(passwords):
    assert passwords.hash(PASSWORD) != passwords.hash(PASSWORD)


@pytest.mark.parametrize("password", ["", PASSWORD[:-1], PASSWORD.title(), "x\0y"])
@pytest.mark.parametrize("name", HASHES)
def test_other_password_is_not_that_of_a_hash(passwords, name, password):
    assert passwords.verify(password, HASHES[name]) is False


@pytest.mark.parametrize("password", ["", PASSWORD, "\0", "\ud800"])
@pytest.mark.parametrize("hash", [None, ""])
def test_nothing_is_the_password_where_there_is_no_hash(passwords, hash, password):
    assert passwords.verify(password, hash) is None


@pytest.mark.parametrize("hash", MALFORMED)
def test_nothing_is_the_password_of_a_malformed_hash(passwords, hash):
    assert not passwords.verify(PASSWORD, hash)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a\0b", "a\0c"),
        ("a\0", "a"),
        ("\0", "\0\0"),
        ("\ud800", "\udfff"),
        ("\ud83d\ude00", "\U0001f600\ud800"),
        ("x" * 72 + "y", "x" * 72 + "z"),
        ("x" * 1024, "x" * 1023 + "y"),
        ("\U0001f600" * 1024, "\U0001f600" * 1023),
        ("é", "e\u0301"),
        (" x", "x"),
    ],
)
def test_argon2_looks_at_the_whole_password(passwords, one, other):
    hash = passwords.hash(one)

    assert passwords.verify(one, hash) is True
    assert passwords.verify(other, hash) is False


def test_bcrypt_looks_at_the_first_72_bytes(passwords):
    hash = bcrypted("x" * 72)

    assert passwords.verify("x" * 72 + "y", hash) is True
    assert passwords.verify("x" * 71 + "y", hash) is False


@pytest.mark.parametrize("name", [None, "argon2id"])
def test_password_over_1024_characters_is_refused(passwords, name):
    with pytest.raises(BadRequest, match="'password' has 1024 characters at most."):
        passwords.verify("x" * 1025, HASHES.get(name))


def test_an_unknown_name_takes_a_check_of_the_hasher(passwords, monkeypatch):
    """Its time would tell who is a user otherwise."""
    checks = []
    verify = PasswordHasher.verify
    monkeypatch.setattr(
        PasswordHasher, "verify", lambda *args: checks.append(args) or verify(*args)
    )

    for hash in (ARGON2, None, "", "md5$x"):
        passwords.verify(PASSWORD, hash)

    assert len(checks) == 4
