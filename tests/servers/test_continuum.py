"""Versions of records by SQLAlchemy-Continuum, which changes a whole process."""

from __future__ import annotations

import subprocess
import sys

CONTINUUM = """
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import configure_mappers
from sqlalchemy_continuum import make_versioned, version_class

from flask_records import FlaskRecords, SQLAlchemyService, Transaction

make_versioned(user_cls=None)
db, records = SQLAlchemy(), FlaskRecords()

class Article(db.Model):
    __versioned__ = {}
    id = sa.Column(sa.Integer, primary_key=True)
    name = sa.Column(sa.String(20))

configure_mappers()
articles = records.add("articles", SQLAlchemyService(Article), public=True)
app = Flask("tests")
app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
db.init_app(app)
records.init_app(app)

with app.app_context():
    db.create_all()

    with Transaction():
        articles.create({"name": "a"})
        articles.patch(1, {"name": "b"})

    articles.patch(1, {"name": "c"})
    db.session.add(Article(name="form"))
    articles.create({"name": "call"})
    db.session.commit()
    articles.remove(1)
    Version = version_class(Article)
    versions = db.session.scalars(sa.select(Version).order_by(Version.transaction_id))
    print([(each.id, each.name, each.operation_type) for each in versions])
"""


def test_continuum_keeps_versions_of_what_services_write():
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CONTINUUM],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stderr == ""
    assert run.stdout.strip() == str(
        [(1, "b", 1), (1, "c", 1), (2, "form", 0), (3, "call", 0), (1, "c", 2)]
    )
