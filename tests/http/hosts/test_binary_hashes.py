"""Hashes in a binary column behind a property, as Flask-Bcrypt's users store them."""

from __future__ import annotations

import bcrypt
import pytest
import requests
import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import AuthenticationService, FlaskRecords, SQLAlchemyService

from ...listening import running

LOGIN = {"strategy": "local", "username": "ann", "password": "correct horse"}


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "binary_user"

    id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(sa.String(80), unique=True)
    _password: Mapped[bytes | None] = mapped_column("password", sa.LargeBinary(128))

    @hybrid_property
    def password(self):
        return self._password

    @password.inplace.setter
    def _set_password(self, value):
        self._password = bcrypt.hashpw(value.encode(), bcrypt.gensalt(4))


@pytest.fixture(params=[False, True], ids=["as it is", "rehash"])
def site(request, database_url):
    """The database and the address of an application whose only user is Ann."""
    app, db = Flask("tests"), SQLAlchemy(model_class=Base)
    app.config["SQLALCHEMY_DATABASE_URI"] = database_url
    app.config["SECRET_KEY"] = "s" * 32
    authentication = AuthenticationService(username="username", rehash=request.param)
    service = SQLAlchemyService(User, hidden=["password"], readonly=["password"])
    records = FlaskRecords()
    records.add("authentication", authentication)
    records.add("users", service, methods=["find", "get"])
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()
        db.session.add(User(username="ann", password="correct horse"))
        db.session.commit()

        with running(app) as url:
            yield db, url

        db.session.remove()
        db.drop_all()
        db.engine.dispose()


def test_user_with_a_binary_hash_logs_in(site):
    db, url = site

    login = requests.post(f"{url}/authentication", json=LOGIN)

    headers = {"Authorization": f"Bearer {login.json()['accessToken']}"}
    assert login.status_code == 201
    assert requests.get(f"{url}/users/1", headers=headers).json() == {
        "id": 1,
        "username": "ann",
    }
    assert db.session.scalar(sa.select(User._password)).startswith(b"$2b$04$")


def test_wrong_password_of_a_binary_hash_is_refused(site):
    db, url = site

    login = requests.post(f"{url}/authentication", json={**LOGIN, "password": "x"})

    assert login.status_code == 401


def test_new_password_ends_the_tokens_of_a_binary_hash(site):
    db, url = site
    login = requests.post(f"{url}/authentication", json=LOGIN)

    db.session.get(User, 1).password = "another secret"
    db.session.commit()

    headers = {"Authorization": f"Bearer {login.json()['accessToken']}"}
    assert requests.get(f"{url}/users/1", headers=headers).status_code == 401
