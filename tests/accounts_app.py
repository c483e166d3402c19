"""An application whose users have accounts, for clients in JavaScript."""

from __future__ import annotations

import os
import sys

import sqlalchemy as sa
from flask import Flask, send_file
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
    TableTokens,
    TokenMixin,
)
from flask_records.accounts import AccountManagement
from flask_records.realtime import Realtime
from tests.authentication import ANY_LOGIN


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))
    isVerified: Mapped[bool] = mapped_column(default=False)
    googleId: Mapped[str | None] = mapped_column(sa.String(50), unique=True)


class Message(Base):
    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


class Token(TokenMixin, Base):
    __tablename__ = "token"


db = SQLAlchemy(model_class=Base)
records = FlaskRecords()
realtime = Realtime(records)
refresh = os.environ.get("REFRESH") or True
authentication = AuthenticationService(tokens=TableTokens(Token), refresh=refresh)
records.add("authentication", authentication)
service = SQLAlchemyService(
    User, hidden=["password"], readonly=["isVerified", "googleId"], write_once=["email"]
)
users = records.add("users", service, public=["create"], allow=ANY_LOGIN)
users.before("create", "update", "patch")(hash_password("password"))
records.add("messages", SQLAlchemyService(Message))


def print_mail(mail):
    """Print a mail where the tests find it."""
    # Threads send mails: one call writes the whole line.
    sys.stderr.write(f"Mail to {mail.address}: {mail.kind} {mail.token}\n")


accounts = AccountManagement(authentication, send=print_mail)
records.add("authManagement", accounts, public=["create"])
users.events("created")(accounts.send_verification)

app = Flask(__name__)
app.config["RECORDS_AUTHENTICATION"] = {"lifetime": 4}
app.config["RECORDS_REALTIME"] = {"max_connections": 900}
app.config.from_prefixed_env()


@app.get("/page")
def page():
    """A page that stays logged in, whose scripts the tests add."""
    return send_file("clients/logins.html")


for extension in (db, records, realtime):
    extension.init_app(app)

with app.app_context():
    db.create_all()

asgi = realtime.asgi(app)
