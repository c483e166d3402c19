"""Flask-Migrate, which writes migrations for the models of an application."""

import os
import subprocess
import sys

import pytest
import sqlalchemy as sa

APP = """\
import os

from flask import Flask
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService
from flask_records import TokenMixin


class Base(DeclarativeBase):
    pass


class Token(TokenMixin, Base):
    __tablename__ = "token"


db = SQLAlchemy(model_class=Base)
records = FlaskRecords()
tokens = records.add("tokens", SQLAlchemyService(Token), public=True)
app = Flask(__name__)
app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["HOST_URL"]
db.init_app(app)
Migrate(app, db)
records.init_app(app)
"""


COMMANDS = """
from app import app

def run(*command):
    done = app.test_cli_runner().invoke(args=["db", *command], catch_exceptions=False)
    print(done.output)

run("init")
run("migrate")
run("upgrade")
"""


@pytest.fixture
def output(database_url, tmp_path):
    """The report of Flask-Migrate on an application that it has migrated."""
    (tmp_path / "app.py").write_text(APP)
    variables = os.environ | {"HOST_URL": database_url, "FLASK_APP": "app.py"}
    options = {"cwd": tmp_path, "env": variables, "text": True}
    subprocess.run([sys.executable, "-c", COMMANDS], **options, check=True)
    check = [sys.executable, "-m", "flask", "db", "check"]
    yield subprocess.run(
        check, **options, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ).stdout
    engine = sa.create_engine(database_url)

    with engine.begin() as connection:
        for table in ("token", "alembic_version"):
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table}")

    engine.dispose()


def test_migrations_are_written_and_complete(output, tmp_path):
    (migration,) = (tmp_path / "migrations" / "versions").glob("*.py")

    text = migration.read_text()
    assert "create_table('token'" in text
    assert "No new upgrade operations detected" in output
