"""Flask-Migrate, which writes migrations for the models of an application."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import sqlalchemy as sa

APP = """\
import os
from decimal import Decimal

from flask import Flask
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import ExactNumeric
from flask_records import FlaskRecords
from flask_records import RevokedTokenMixin
from flask_records import SQLAlchemyService


class Base(DeclarativeBase):
    pass


class Price(Base):
    __tablename__ = "price"

    id: Mapped[int] = mapped_column(primary_key=True)
    amount: Mapped[Decimal] = mapped_column(ExactNumeric(10, 2))


class RevokedToken(RevokedTokenMixin, Base):
    __tablename__ = "revoked_token"


db = SQLAlchemy(model_class=Base)
records = FlaskRecords()
prices = records.add("prices", SQLAlchemyService(Price), public=True)
app = Flask(__name__)
app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["HOST_URL"]
db.init_app(app)
Migrate(app, db)
records.init_app(app)
"""


@pytest.fixture
def flask(database_url, tmp_path):
    """A function that runs a command of ``flask`` in the folder of an application."""
    (tmp_path / "app.py").write_text(APP)
    variables = {"HOST_URL": database_url, "FLASK_APP": "app.py"}

    def run(*command):
        done = subprocess.run(
            [sys.executable, "-m", "flask", *command],
            cwd=tmp_path,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    yield run
    engine = sa.create_engine(database_url)

    with engine.begin() as connection:
        for table in ("price", "revoked_token", "alembic_version"):
            connection.exec_driver_sql(f"DROP TABLE {table}")

    engine.dispose()


def test_migrations_are_written_and_complete(flask, tmp_path):
    flask("db", "init")
    template = tmp_path / "migrations" / "script.py.mako"
    imports = "import sqlalchemy as sa\n"
    text = template.read_text().replace(imports, imports + "import flask_records\n")
    template.write_text(text)

    flask("db", "migrate")
    flask("db", "upgrade")

    versions = (tmp_path / "migrations" / "versions").glob("*.py")
    (migration,) = [path.read_text() for path in versions]
    assert "flask_records.ExactNumeric(precision=10, scale=2)" in migration
    assert "create_table('revoked_token'" in migration
    assert "No new upgrade operations detected" in flask("db", "check")
