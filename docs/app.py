"""The application that the examples of the documentation extend."""

from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import FlaskRecords


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "user_account"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(String(100), unique=True)
    password: Mapped[str | None] = mapped_column(String(255))
    role: Mapped[str] = mapped_column(String(20), default="member")
    githubId: Mapped[str | None] = mapped_column(String(255), unique=True)


class Room(Base):
    __tablename__ = "room"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)


class Message(Base):
    __tablename__ = "message"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(String(1000))
    read: Mapped[bool] = mapped_column(default=False)
    roomId: Mapped[int | None] = mapped_column(ForeignKey("room.id"))

    room: Mapped[Room | None] = relationship()


class Note(Base):
    __tablename__ = "note"

    id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(String(1000))
    stars: Mapped[int] = mapped_column(default=0)
    userId: Mapped[int | None] = mapped_column(ForeignKey("user_account.id"))


db = SQLAlchemy(model_class=Base)
records = FlaskRecords()


def create_app(records, **config):
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = "sqlite://"
    app.config["SECRET_KEY"] = "only for the examples, 32 bytes long"
    app.config.update(config)
    db.init_app(app)
    records.init_app(app)
    app.app_context().push()
    db.create_all()
    return app


app = create_app(records)
