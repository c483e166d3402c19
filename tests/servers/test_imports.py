"""Packages of features are imported by the first call that needs them."""

import json
import subprocess
import sys

import pytest

from ..processes import environment, ROOT

OF_FEATURES = {
    *("argon2", "authlib", "bcrypt", "cryptography", "joserfc", "jwt"),
    *("psycopg", "pymysql"),
}
"""Modules that no application needs before the first login, or for another database."""

OF_REALTIME = {"aiohttp", "engineio", "redis", "requests", "socketio"}
OF_LIMITS = {"flask_limiter", "limits"}
OF_ACCOUNTS = {"flask_records.accounts"}
UNUSED = OF_FEATURES | OF_REALTIME | OF_LIMITS | OF_ACCOUNTS

APPLICATION = """
from flask import Flask
from flask_records import AuthenticationService, FlaskRecords, FromUser
from flask_records import hash_password, SQLAlchemyService
from tests.models import User
from sqlalchemy import create_engine
from sqlalchemy.orm import sessionmaker

sessions = sessionmaker(create_engine("sqlite://"))
records = FlaskRecords()
records.add("authentication", AuthenticationService())
users = records.add(
    "users",
    SQLAlchemyService(User, hidden=["password"], session=sessions),
    readable={"id": FromUser("id")},
)
users.before("create", "update", "patch")(hash_password("password"))
app = Flask("app")
app.config["SECRET_KEY"] = "5e" * 32
records.init_app(app)
"""

EXAMPLE = "import wsgi"


def imported_by(source, folder):
    """The names of the modules that a new interpreter has imported after a source."""
    report = "import json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{source}\n{report}"],
        cwd=ROOT,
        env=environment(f"sqlite:///{folder}/imports.db", folder),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("source", "features"),
    [
        (APPLICATION, UNUSED),
        ("import flask_records.realtime", UNUSED),
        (EXAMPLE, OF_FEATURES),
    ],
)
def test_start_imports_no_package_of_a_feature(tmp_path, source, features):
    modules = imported_by(source, tmp_path)

    assert "flask_records" in modules
    assert modules & features == set()


DATACLASS = """
import dataclasses
from flask_records import FlaskRecords

@dataclasses.dataclass
class Box:
    width: int

class Boxes:
    def create(self, data, params):
        return data

FlaskRecords().add("boxes", Boxes(), public=True, schemas={"create": Box})
"""


CROSS_ORIGIN = """
from flask import Flask
from flask_records import FlaskRecords

app = Flask("app")
app.config["RECORDS_CORS"] = {"origins": ["https://app.example"]}
FlaskRecords().init_app(app)
"""


@pytest.mark.parametrize(
    ("package", "source", "words"),
    [
        (
            "pydantic",
            DATACLASS,
            "schemas['create']['data'] of 'boxes' is <class '__main__.Box'>,"
            " which needs 'flask-record-services[pydantic]'.",
        ),
        (
            "flask_cors",
            CROSS_ORIGIN,
            "RECORDS_CORS needs 'flask-record-services[cors]'.",
        ),
    ],
)
def test_extra_of_a_missing_package_is_named(package, source, words):
    missing = f"import sys; sys.modules[{package!r}] = None"
    done = subprocess.run(
        [sys.executable, "-c", f"{missing}\n{source}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert done.returncode
    assert done.stderr.splitlines()[-1].endswith(words)
