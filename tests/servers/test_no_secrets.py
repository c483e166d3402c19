"""The search for secrets in all that the tests' applications answer and log, which
``conftest.py`` makes in every run, and which fails the run if there are any.
"""

from __future__ import annotations

import re
import subprocess
import sys

from argon2 import PasswordHasher

from ..processes import ROOT

PASSWORD = 'öpen "sesame" + 1'
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)

TESTS = """
import logging
import sys

import pytest
from flask import Flask

from flask_records import AuthenticationService
from flask_records import FlaskRecords

LOGIN = {"strategy": "local", "email": "ada@example.com", "password": PASSWORD}
USER = {"id": 1, "email": "ada@example.com", "password": HASH}

class Users:
    hidden = ["password"]

    def find(self, params):
        return [USER]

    def get(self, id, params):
        return USER

class Leaks:
    def create(self, data, params):
        return {"created": data}

    def get(self, id, params):
        if id == "error":
            raise ValueError(HASH)

        return {"hash": HASH}

app = Flask(__name__)
app.config["SECRET_KEY"] = "s" * 64
records = FlaskRecords()
records.add("login", AuthenticationService())
records.add("users", Users())
records.add("leaks", Leaks())
records.init_app(app)
client = app.test_client()

@app.get("/header")
def header():
    return "", {"X-Token": TOKEN}

@pytest.fixture
def headers():
    token = client.post("/login", json=LOGIN).get_json()["accessToken"]
    return {"Authorization": "Bearer " + token}

@pytest.fixture(scope="session")
def afterwards():
    yield
    print(TOKEN, file=sys.stderr)

def test_login_and_logout(headers):
    assert client.get("/users/1", headers=headers).status_code == 200
    assert client.delete("/login", headers=headers).status_code == 200

def test_body(headers):
    data = [{"user": {"password": PASSWORD}}]
    assert client.post("/leaks", json=data, headers=headers).status_code == 201

@pytest.mark.parametrize("path", ["leaks/hash", "leaks/error"])
def test_answer(headers, path):
    client.get(path, headers=headers).get_data()

def test_view():
    client.get("header")

def test_log():
    logging.getLogger("any").warning("%s", TOKEN)

def test_output(afterwards):
    print(HASH)
"""


def test_leak_fails_the_run(tmp_path):
    """A login and a logout answer with a token, which is no leak."""
    names = {"PASSWORD": PASSWORD, "TOKEN": TOKEN, "HASH": HASH}
    values = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    (tmp_path / "test_it.py").write_text(values + TESTS, encoding="utf-8")

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest"]
        + ["-p", "no:cacheprovider", f"--rootdir={tmp_path}", f"{tmp_path}/test_it.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert "= 7 passed in" in run.stdout
    assert run.returncode == 1
    assert re.findall("LEAK: (.*)", run.stdout) == [
        "a password in test_it.py::test_body (call): POST /leaks",
        "a hash in test_it.py::test_answer[leaks/hash] (call): GET /leaks/hash",
        "a hash in test_it.py::test_answer[leaks/error]: Captured log call",
        "a token in test_it.py::test_view (call): GET /header, headers",
        "a token in test_it.py::test_log: Captured log call",
        "a hash in test_it.py::test_output: Captured stdout call",
        "a token in test_it.py::test_output: Captured stderr teardown",
    ]
