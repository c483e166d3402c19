"""An application whose users have accounts, for clients in JavaScript."""

from __future__ import annotations

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
)
from flask_records.accounts import RefreshTokens, TableTokens, TokenMixin
from flask_records.realtime import Realtime


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str] = mapped_column(sa.String(200))


class Message(Base):
    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


class Token(TokenMixin, Base):
    __tablename__ = "account_token"


db = SQLAlchemy(model_class=Base)
records = FlaskRecords()
realtime = Realtime(records)
tokens = TableTokens(Token)
records.add("authentication", AuthenticationService(refresh=RefreshTokens(tokens)))
users = records.add(
    "users", SQLAlchemyService(User, hidden=["password"]), public=["create"]
)
users.before("create", "update", "patch")(hash_password("password"))
records.add("messages", SQLAlchemyService(Message))

app = Flask(__name__)
app.config["RECORDS_AUTHENTICATION"] = {"lifetime": 4}
app.config["RECORDS_REALTIME"] = {"max_connections": 900}
app.config.from_prefixed_env()

for extension in (db, records, realtime):
    extension.init_app(app)

with app.app_context():
    db.create_all()

asgi = realtime.asgi(app)
