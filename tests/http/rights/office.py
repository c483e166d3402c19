"""An office of two organisations: projects, their members and tasks."""

from __future__ import annotations

import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    FromUser,
    SQLAlchemyService,
)

from ...authentication import SECRET


class Base(DeclarativeBase):
    # MariaDB compares text without regard to case unless it is told otherwise.
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class Person(Base):
    __tablename__ = "office_person"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(50))
    orgId: Mapped[int]


class Project(Base):
    __tablename__ = "office_project"

    id: Mapped[int] = mapped_column(sa.Identity(start=100), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50))
    orgId: Mapped[int]

    members: Mapped[list[Member]] = relationship(back_populates="project")
    tasks: Mapped[list[Task]] = relationship(back_populates="project")


class Member(Base):
    __tablename__ = "office_member"

    id: Mapped[int] = mapped_column(sa.Identity(start=100), primary_key=True)
    projectId: Mapped[int] = mapped_column(sa.ForeignKey("office_project.id"))
    userId: Mapped[int] = mapped_column(sa.ForeignKey("office_person.id"))
    role: Mapped[str] = mapped_column(sa.String(50))
    nickname: Mapped[str | None] = mapped_column(sa.String(50))

    project: Mapped[Project] = relationship(back_populates="members")
    user: Mapped[Person] = relationship()


class Task(Base):
    __tablename__ = "office_task"

    id: Mapped[int] = mapped_column(sa.Identity(start=100), primary_key=True)
    title: Mapped[str] = mapped_column(sa.String(50))
    status: Mapped[str] = mapped_column(sa.String(50), default="draft")
    orgId: Mapped[int]
    ownerId: Mapped[int | None] = mapped_column(sa.ForeignKey("office_person.id"))
    projectId: Mapped[int | None] = mapped_column(sa.ForeignKey("office_project.id"))

    project: Mapped[Project | None] = relationship(back_populates="tasks")


ANN, BOB, EVE = 1, 2, 3

ROWS = {
    Person.__table__: [
        {"id": ANN, "name": "ann", "orgId": 1},
        {"id": BOB, "name": "bob", "orgId": 1},
        {"id": EVE, "name": "eve", "orgId": 2},
    ],
    Project.__table__: [
        {"id": 1, "name": "moon", "orgId": 1},
        {"id": 2, "name": "mars", "orgId": 2},
    ],
    Member.__table__: [
        {"id": 1, "projectId": 1, "userId": ANN, "role": "owner"},
        {"id": 2, "projectId": 1, "userId": BOB, "role": "member"},
        {"id": 3, "projectId": 2, "userId": EVE, "role": "owner"},
    ],
    Task.__table__: [
        *({"id": 1, "title": "a", "orgId": 1, "ownerId": ANN, "projectId": 1},),
        *({"id": 2, "title": "b", "orgId": 1, "ownerId": BOB, "projectId": 1},),
        *({"id": 3, "title": "c", "orgId": 2, "ownerId": EVE, "projectId": 2},),
    ],
}
"""The records of the beginning."""

ORG = {"orgId": FromUser("orgId")}
OWNERS = {"project.members.userId": FromUser("id"), "project.members.role": "owner"}
MEMBERS = {"project.members.userId": FromUser("id")}
WRITES = ("create", "update", "patch", "remove")

MODELS = {"people": Person, "projects": Project, "members": Member, "tasks": Task}


class Office:
    """The application over a database.

    :param rules: The options of ``add`` by the path of the service.
    :param options: Those of its model.
    """

    def __init__(self, rules=None, options=None, **defaults):
        self.db = SQLAlchemy(model_class=Base)
        self.records = FlaskRecords(app_errors=True, **defaults)
        logins = AuthenticationService("people", username="name", custom_hashing=True)
        self.records.add("authentication", logins)
        hidden = {"people": {"hidden": ["password"]}}
        own = {"people": {"allow": dict.fromkeys(WRITES, {"id": FromUser("id")})}}

        for path, model in MODELS.items():
            of_model = {
                "multi": True,
                **hidden.get(path, {}),
                **(options or {}).get(path, {}),
            }
            service = SQLAlchemyService(model, **of_model)
            of_path = {**own.get(path, {}), **(rules or {}).get(path, {})}
            self.records.add(path, service, **of_path)

    def fill(self):
        """Make the records what they are in the beginning."""
        with self.db.engine.begin() as connection:
            for table in reversed(ROWS):
                connection.execute(sa.delete(table))

            for table, rows in ROWS.items():
                connection.execute(sa.insert(table), rows)

    def service(self, path, user):
        """A service as a user reaches it over HTTP."""
        user = self.records["people"].get(user)
        return self.records.client(self.app, user=user).service(path)

    def stored(self, path):
        """The records of a service, by their identifiers."""
        return {each["id"]: each for each in self.records[path].find()}


CONFIG = {"RECORDS_AUTHENTICATION": {"secret": SECRET}, "SECRET_KEY": SECRET}
