from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bcrypt
import pytest
from argon2 import extract_parameters
from argon2 import Parameters
from argon2 import PasswordHasher
from argon2 import Type
from flask import Flask
from werkzeug.security import generate_password_hash

from flask_records import AuthenticationService
from flask_records import BadRequest
from flask_records import FlaskRecords
from flask_records import hash_password
from flask_records.authentication.passwords import Passwords

CHEAP = {"memory": 64, "passes": 1}

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
    BCRYPT + "\ud800",
    BCRYPT[:7] + "é" * 53,
    BCRYPT.replace("$04$", "$99$"),
    BCRYPT.replace("$04$", "$xx$"),
    "scrypt:",
    "scrypt:a:b:c$salt$00",
    "scrypt:3:8:1$salt$00",
    "scrypt:-2:8:1$salt$00",
    "scrypt:1024:8:1$salt$é",
    "scrypt:1024:8:1$\ud800$00",
    "scrypt:1073741824:8:1$salt$00",
    "scrypt:99999999999999999999:8:1$salt$00",
    "pbkdf2:",
    "pbkdf2:sha256:0$salt$00",
    "pbkdf2:sha256:1:1$salt$00",
    "pbkdf2:nothing:1$salt$00",
    "pbkdf2:shake_128:1$salt$00",
    "pbkdf2:sha256:1$salt$é",
    "pbkdf2:sha256:1$\ud800$00",
    "pbkdf2:sha256:99999999999999999999$salt$00",
]

MEMORY = 16 * 1024
"""The memory of a check in KiB, where it is measured."""

PEAK = f"""
import sys
from pathlib import Path
from threading import Thread

from flask_records.authentication.passwords import Passwords

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

call, several, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
services = [Passwords(memory={MEMORY}, passes=3) for _ in range(several)]
hash = "$argon2id$v=19$m={MEMORY},t=3,p=1$c29tZXNhbHQ${"A" * 43}"
calls = {{
    "hash": lambda passwords: passwords.hash("x"),
    "verify": lambda passwords: passwords.verify("x", hash),
    "verify without a hash": lambda passwords: passwords.verify("x", None),
}}
checks = [
    Thread(target=calls[call], args=[services[number % several]])
    for number in range(threads)
]
before = peak()
[check.start() for check in checks]
[check.join() for check in checks]
print(peak() - before)
"""
"""Prints how many KiB it takes to check passwords on so many threads."""

PROCESSORS = os.cpu_count() or 1

measured = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="There is no /proc."
)


@pytest.fixture
def passwords():
    return Passwords(**CHEAP)


def bcrypted(password):
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()


def test_hash_is_argon2id_of_the_configured_cost():
    hash = Passwords(memory=128, passes=3, threads=2).hash(PASSWORD)

    assert extract_parameters(hash) == Parameters(
        type=Type.ID,
        version=19,
        salt_len=16,
        hash_len=32,
        time_cost=3,
        memory_cost=128,
        parallelism=2,
    )


def test_hash_costs_19_mebibytes_and_two_passes_by_default():
    found = extract_parameters(Passwords().hash(PASSWORD))

    cost = (found.memory_cost, found.time_cost, found.parallelism)
    assert cost == (19 * 1024, 2, 1)


def test_each_hash_of_a_password_has_its_own_salt(passwords):
    assert passwords.hash(PASSWORD) != passwords.hash(PASSWORD)


@pytest.mark.parametrize("name", HASHES)
def test_password_of_each_kind_of_hash(passwords, name):
    assert passwords.verify(PASSWORD, HASHES[name]) is True


@pytest.mark.parametrize("password", ["", PASSWORD[:-1], PASSWORD.title(), "x\0y"])
@pytest.mark.parametrize("name", HASHES)
def test_other_password_is_not_that_of_a_hash(passwords, name, password):
    assert passwords.verify(password, HASHES[name]) is False


@pytest.mark.parametrize("password", ["", PASSWORD, "\0", "\ud800"])
@pytest.mark.parametrize("hash", [None, ""])
def test_nothing_is_the_password_where_there_is_no_hash(passwords, hash, password):
    assert passwords.verify(password, hash) is False


@pytest.mark.parametrize("hash", MALFORMED)
def test_nothing_is_the_password_of_a_malformed_hash(passwords, hash):
    assert passwords.verify(PASSWORD, hash) is False


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


def test_bcrypt_looks_at_bytes_behind_nul(passwords):
    hash = bcrypted("a\0b")

    assert passwords.verify("a\0b", hash) is True
    assert passwords.verify("a\0c", hash) is False


def test_72_bytes_can_end_within_a_character(passwords):
    hash = bcrypt.hashpw(("x" + "é" * 40).encode()[:72], bcrypt.gensalt(4)).decode()

    assert passwords.verify("x" + "é" * 40, hash) is True


WITHOUT_BCRYPT = """
import sys

sys.modules["bcrypt"] = None
from flask_records.authentication.passwords import Passwords

try:
    Passwords().verify("x", sys.argv[1])
except RuntimeError as error:
    print(error)
"""


def test_hash_of_bcrypt_tells_what_to_install():
    command = [sys.executable, "-c", WITHOUT_BCRYPT, BCRYPT]

    process = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "Install 'flask-record-services[bcrypt]'" in process.stdout


@pytest.mark.parametrize("name", [None, *HASHES])
def test_password_over_1024_characters_is_refused(passwords, name):
    with pytest.raises(BadRequest, match="A password has 1024 characters at most."):
        passwords.verify("x" * 1025, HASHES.get(name))


def test_password_over_1024_characters_is_not_hashed(passwords):
    with pytest.raises(BadRequest) as caught:
        passwords.hash("x" * 1025)

    assert caught.value.errors == {"password": "is too long"}


@pytest.mark.parametrize(
    ("cost", "is_needed"),
    [
        ({}, False),
        ({"memory": 72}, True),
        ({"passes": 2}, True),
        ({"threads": 2}, True),
    ],
)
def test_hash_of_another_cost_needs_an_update(passwords, cost, is_needed):
    hash = Passwords(**{**CHEAP, **cost}).hash(PASSWORD)

    assert passwords.needs_update(hash) is is_needed


@pytest.mark.parametrize("name", HASHES)
def test_hash_of_another_kind_needs_an_update(passwords, name):
    assert passwords.needs_update(HASHES[name]) is (name != "argon2id")


def memory_of_checks(call, *, several=1, **environment):
    """The peak memory in KiB of a process with six checks a processor at once."""
    process = subprocess.run(
        [sys.executable, "-c", PEAK, call, str(several), str(6 * PROCESSORS)],
        capture_output=True,
        check=True,
        env={**os.environ, **environment},
        text=True,
    )
    return int(process.stdout)


@measured
@pytest.mark.parametrize("call", ["hash", "verify", "verify without a hash"])
def test_no_more_checks_run_at_once_than_there_are_processors(call):
    taken = memory_of_checks(call, MALLOC_MMAP_THRESHOLD_="131072")

    assert (PROCESSORS - 1) * MEMORY < taken < (PROCESSORS + 1) * MEMORY


@measured
def test_checks_of_several_services_share_the_processors():
    taken = memory_of_checks("verify", several=4, MALLOC_MMAP_THRESHOLD_="131072")

    assert taken < (PROCESSORS + 1) * MEMORY


@measured
def test_memory_of_a_check_is_used_again_whatever_the_thread():
    """Even though an allocator keeps what is freed to the thread that had it."""
    assert memory_of_checks("verify") < (PROCESSORS + 1) * MEMORY


def test_check_that_raised_gives_its_place_back(passwords):
    for _ in range(2 * PROCESSORS):
        with pytest.raises(BadRequest):
            passwords.verify("x" * 1025, ARGON2)

    assert passwords.verify(PASSWORD, ARGON2) is True


def app_with(passwords):
    records = FlaskRecords()
    records.add("authentication", AuthenticationService())
    records.add("users", Users())
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {"secret": "s" * 32, "passwords": passwords}
    records.init_app(app)
    return app


@pytest.mark.parametrize("name", ["memory", "passes", "threads"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "64", True, None, [64]])
def test_cost_that_is_not_a_positive_integer_is_refused_at_start_up(name, value):
    with pytest.raises(RuntimeError, match=rf"\['{name}'\] must be a positive integer"):
        app_with({name: value})


@pytest.mark.parametrize(
    "cost", [{"memory": 2**32}, {"passes": 2**32}, {"memory": 2**28, "threads": 2**24}]
)
def test_cost_beyond_what_argon2_knows_is_refused_at_start_up(cost):
    with pytest.raises(RuntimeError, match=r"\['passwords'\]"):
        app_with(cost)


@pytest.mark.parametrize(
    ("passwords", "message"),
    [
        ("cheap", r"\['passwords'\] must be a mapping, not 'cheap'"),
        ([64, 1, 1], r"\['passwords'\] must be a mapping, not \[64, 1, 1\]"),
        (
            {"rounds": 12},
            r"\['passwords'\] has no key 'rounds'. The keys are 'memory', 'passes'",
        ),
        ({"memory": 7}, r"\['passwords'\] needs 8 KiB of memory per thread"),
        ({"memory": 31, "threads": 4}, "needs 8 KiB of memory per thread"),
        ({"threads": 4096}, "needs 8 KiB of memory per thread"),
    ],
)
def test_wrong_settings_are_refused_at_start_up(passwords, message):
    with pytest.raises(RuntimeError, match=message):
        app_with(passwords)


@pytest.mark.parametrize("passwords", [None, {}, {"memory": 32, "threads": 4}])
def test_settings_that_argon2_accepts(passwords):
    assert app_with(passwords).extensions["records"].authentication() is not None


class Users:
    """One user, with the password of the registration."""

    user: dict[str, object] = {}

    def find(self, params):
        return [self.user] if self.user.get("email") == params.query["email"] else []

    def get(self, id, params):
        return self.user

    def create(self, data, params):
        self.user = {"id": 1, **data}
        return {"id": 1}

    def patch(self, id, data, params):
        self.user = {**self.user, **data}
        return self.user


@pytest.fixture
def users():
    return Users()


def client_of(users, costs=CHEAP, **options):
    """A client of an app with one user."""
    records = FlaskRecords()
    records.add("users", users, public=["create"]).before("create")(hash_password())
    records.add("authentication", AuthenticationService(**options))
    app = Flask("tests")
    app.config["RECORDS_AUTHENTICATION"] = {"secret": "s" * 32, "passwords": costs}
    records.init_app(app)
    return app.test_client()


@pytest.fixture
def client(users):
    return client_of(users)


def register(client, password):
    return client.post("/users", json={"email": "ann@a.test", "password": password})


def log_in(client, password, email="ann@a.test"):
    login = {"strategy": "local", "email": email, "password": password}
    return client.post("/authentication", json=login)


@pytest.mark.parametrize(
    "password", ["x", "a\0b", "\0", "\ud800", "x" * 1024, "\U0001f600" * 1024]
)
def test_user_logs_in_with_the_password_of_the_registration(client, password):
    registered = register(client, password)

    assert registered.status_code == 201
    assert log_in(client, password).status_code == 201
    assert log_in(client, password[:-1] + "?").status_code == 401


@pytest.mark.parametrize("length", [1025, 1_000_000])
@pytest.mark.parametrize(
    ("call", "subject"), [(register, "'password'"), (log_in, "A password")]
)
def test_password_that_is_too_long_is_told_over_http(client, call, subject, length):
    response = call(client, "x" * length)

    assert response.status_code == 400
    assert response.json == {
        "name": "BadRequest",
        "message": f"{subject} has 1024 characters at most.",
        "code": 400,
        "className": "bad-request",
        "errors": {"password": "is too long"},
    }


@pytest.mark.parametrize("email", ["ann@a.test", "nobody@a.test"])
@pytest.mark.parametrize("hash", [None, ARGON2, BCRYPT, *MALFORMED])
def test_failed_login_looks_the_same_whatever_there_is(client, users, hash, email):
    users.user = {"id": 1, "email": "ann@a.test", "password": hash}

    response = log_in(client, "wrong", email)

    assert response.status_code == 401
    assert response.json == {
        "name": "NotAuthenticated",
        "message": "Invalid login",
        "code": 401,
        "className": "not-authenticated",
        "errors": {},
    }


@pytest.mark.parametrize("name", HASHES)
def test_login_leaves_a_hash_of_any_kind_as_it_is(client, users, name):
    users.user = {"id": 1, "email": "ann@a.test", "password": HASHES[name]}

    responses = [log_in(client, PASSWORD), log_in(client, PASSWORD)]

    assert [response.status_code for response in responses] == [201, 201]
    assert users.user["password"] == HASHES[name]


@pytest.mark.parametrize("name", HASHES)
def test_login_makes_an_older_hash_a_new_one_if_asked_to(users, name):
    users.user = {"id": 1, "email": "ann@a.test", "password": HASHES[name]}
    client = client_of(users, rehash=True)

    responses = [log_in(client, PASSWORD), log_in(client, PASSWORD)]

    assert [response.status_code for response in responses] == [201, 201]
    assert Passwords(**CHEAP).needs_update(users.user["password"]) is False


def test_login_leaves_a_new_hash_as_it_is(users):
    users.user = {"id": 1, "email": "ann@a.test", "password": ARGON2}
    client = client_of(users, rehash=True)

    log_in(client, PASSWORD)

    assert users.user["password"] == ARGON2


def test_failed_login_leaves_an_older_hash_as_it_is(users):
    users.user = {"id": 1, "email": "ann@a.test", "password": BCRYPT}
    client = client_of(users, rehash=True)

    log_in(client, "wrong")

    assert users.user["password"] == BCRYPT
