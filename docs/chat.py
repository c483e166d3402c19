"""A server for the chats of FeathersJS, which are the examples of its guides."""

import time

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    FromUser,
    hash_password,
    Params,
    set_user_field,
    SQLAlchemyService,
)
from flask_records.realtime import Realtime

AVATAR = "https://www.gravatar.com/avatar/?d=mp&s=60"
PAGES = {"default": 10, "max": 50}

# Users who are logged in see all users and messages, and change their own.
ME, OWN = {"id": FromUser("id")}, {"userId": FromUser("id")}


class Base(DeclarativeBase):
    pass


def now():
    return time.time_ns() // 1_000_000


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(unique=True)
    password: Mapped[str]
    avatar: Mapped[str] = mapped_column(default=AVATAR)


class Message(Base):
    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]
    createdAt: Mapped[int] = mapped_column(sa.BigInteger, default=now)
    userId: Mapped[int] = mapped_column(sa.ForeignKey("user_account.id"))


db = SQLAlchemy(model_class=Base)
records = FlaskRecords()
realtime = Realtime(records)
records.add("authentication", AuthenticationService())
users = records.add(
    "users",
    SQLAlchemyService(User, paginate=PAGES, hidden=["password"]),
    public=["create"],
    allow={"update": ME, "patch": ME, "remove": ME},
)
messages = records.add(
    "messages",
    SQLAlchemyService(
        Message,
        paginate=PAGES,
        readonly=["createdAt", "userId"],
    ),
    allow={"update": OWN, "patch": OWN, "remove": OWN},
)
users.before("create", "update", "patch")(hash_password("password"))
messages.before("create", "update", "patch")(set_user_field("userId"))


@messages.after()
def add_users(method, context):
    """Add the user to each message, for answers and events."""
    ids = {message["userId"] for message in context.records}
    query = {"id": {"$in": list(ids)}}
    found = users.find(Params(query=query, paginate=False))
    by_id = {user["id"]: user for user in found}

    for message in context.records:
        message["user"] = by_id.get(message["userId"])


def create_app():
    app = Flask(__name__, static_folder="feathers-chat/public", static_url_path="")
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite:///chat.db"
    app.config["SECRET_KEY"] = "only for this page, 32 bytes long"
    app.config["RECORDS_CORS"] = {"origins": ["http://localhost:3000"]}
    app.config.from_prefixed_env()
    db.init_app(app)
    records.init_app(app)
    realtime.init_app(app)
    app.add_url_rule("/", "index", lambda: app.send_static_file("index.html"))

    with app.app_context():
        db.create_all()

    return app


def create_asgi():
    return realtime.asgi(create_app())
