"""A help desk: organisations, their people and tickets, tags and internal comments."""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import AuthenticationService, FlaskRecords, SQLAlchemyService

from ...authentication import ANY_LOGIN, SECRET


class Base(DeclarativeBase):
    # MariaDB compares text without regard to case unless it is told otherwise.
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


tagging = sa.Table(
    "desk_tagging",
    Base.metadata,
    sa.Column("ticket", sa.ForeignKey("desk_ticket.id"), primary_key=True),
    sa.Column("tag", sa.ForeignKey("desk_tag.id"), primary_key=True),
)


class Organisation(Base):
    __tablename__ = "desk_organisation"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50))
    secret: Mapped[str | None] = mapped_column(sa.String(50))


class Person(Base):
    __tablename__ = "desk_person"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50))
    password: Mapped[str | None] = mapped_column(sa.String(50))
    agent: Mapped[bool] = mapped_column(default=False)
    organisationId: Mapped[int] = mapped_column(sa.ForeignKey("desk_organisation.id"))

    organisation: Mapped[Organisation] = relationship()


class Tag(Base):
    __tablename__ = "desk_tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50))
    color: Mapped[str] = mapped_column(sa.String(50))


class Ticket(Base):
    __tablename__ = "desk_ticket"

    id: Mapped[int] = mapped_column(primary_key=True)
    status: Mapped[str] = mapped_column(sa.String(50), default="open")
    cost: Mapped[int | None]
    createdAt: Mapped[dt.datetime | None]
    organisationId: Mapped[int] = mapped_column(sa.ForeignKey("desk_organisation.id"))
    assigneeId: Mapped[int | None] = mapped_column(sa.ForeignKey("desk_person.id"))
    parentId: Mapped[int | None] = mapped_column(sa.ForeignKey("desk_ticket.id"))

    organisation: Mapped[Organisation] = relationship()
    assignee: Mapped[Person | None] = relationship()
    parent: Mapped[Ticket | None] = relationship(remote_side=id)
    tags: Mapped[list[Tag]] = relationship(secondary=tagging, order_by=Tag.id)
    comments: Mapped[list[Comment]] = relationship(back_populates="ticket")


class Comment(Base):
    __tablename__ = "desk_comment"

    # PostgreSQL counts on from here, whatever identifiers the comments of a test have.
    id: Mapped[int] = mapped_column(sa.Identity(start=100), primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(50))
    internal: Mapped[bool] = mapped_column(default=False)
    ticketId: Mapped[int] = mapped_column(sa.ForeignKey("desk_ticket.id"))

    ticket: Mapped[Ticket] = relationship(back_populates="comments")


ORGANISATIONS = [
    {"id": 1, "name": "Acme", "secret": "a"},
    {"id": 2, "name": "Bolt", "secret": "b"},
]
PEOPLE = [
    {"id": 1, "name": "Agent", "agent": True, "organisationId": 1},
    {"id": 2, "name": "Bea", "agent": False, "organisationId": 2},
    {"id": 3, "name": "Cas", "agent": False, "organisationId": 1},
]
TAGS = [
    {"id": 1, "name": "red", "color": "r"},
    {"id": 2, "name": "blue", "color": "b"},
    {"id": 3, "name": "red", "color": "b"},
]


def ticket(id, organisation, status="open", cost=None, assignee=None, parent=None):
    return {
        "id": id,
        "status": status,
        "cost": cost,
        "createdAt": dt.datetime(2024, 1 + id % 2, id, 23, 30),
        "organisationId": organisation,
        "assigneeId": assignee,
        "parentId": parent,
    }


TICKETS = [
    ticket(1, 1, "open", 5, assignee=1),
    ticket(2, 1, "closed", 7, assignee=3, parent=1),
    ticket(3, 2, "open", None, assignee=2, parent=1),
    ticket(4, 2, "open", 10, parent=2),
]
TAGGINGS = [{"ticket": 1, "tag": 1}, {"ticket": 1, "tag": 2}, {"ticket": 2, "tag": 3}]
COMMENTS = [
    {"id": 1, "text": "hi", "internal": False, "ticketId": 1},
    {"id": 2, "text": "psst", "internal": True, "ticketId": 1},
    {"id": 3, "text": "hi", "internal": False, "ticketId": 3},
    {"id": 4, "text": "psst", "internal": True, "ticketId": 3},
]
ROWS = {
    Organisation.__table__: ORGANISATIONS,
    Person.__table__: PEOPLE,
    Tag.__table__: TAGS,
    Ticket.__table__: TICKETS,
    tagging: TAGGINGS,
    Comment.__table__: COMMENTS,
}
WHITELIST = ["$nor", "$not", "$null", "$like", "$populate"]


def is_agent(user):
    return user is not None and user["agent"]


def of_organisation(path):
    """A rule: agents see everything, others what belongs to their organisation."""
    return lambda user: (
        is_agent(user) or (user is not None and {path: user["organisationId"]})
    )


def own_comments(user):
    if is_agent(user):
        return True

    return user is not None and {
        "internal": False,
        "ticket.organisationId": user["organisationId"],
    }


class Desk:
    """The application over a database.

    :param options: Options of the services, by their paths.
    """

    def __init__(self, **options):
        self.db = SQLAlchemy(model_class=Base)
        self.records = FlaskRecords(app_errors=True)
        self.records.add(
            "authentication",
            AuthenticationService("people", username="name", custom_hashing=True),
        )
        self._options = options
        self.add("organisations", Organisation, hidden=["secret"])
        self.add("tags", Tag)
        self.add(
            "people",
            Person,
            hidden=["password"],
            relations=["organisation"],
            visible={"name": of_organisation("organisationId")},
            allow=ANY_LOGIN,
        )
        self.add(
            "tickets",
            Ticket,
            readable=of_organisation("organisationId"),
            relations=["organisation", "assignee", "parent", "tags", "comments"],
            aggregates=["status", "cost", "createdAt", "organisationId", "id"],
            paginate={"default": 10, "max": 50},
        )
        self.add(
            "comments",
            Comment,
            readable=own_comments,
            allow={"create": of_organisation("ticket.organisationId")},
            relations=["ticket"],
        )

    def add(self, path, model, **options):
        options = {"whitelist": WHITELIST, **options, **self._options.get(path, {})}
        names = options.keys() & {"readable", "allow", "methods", "public"}
        added = {name: options.pop(name) for name in names}
        self.records.add(path, SQLAlchemyService(model, **options), **added)

    def fill(self, tables=ROWS):
        """Make the records what they are in the beginning.

        :param tables: The rows by tables, in an order in which they can be inserted.
        """
        with self.db.engine.begin() as connection:
            # A server looks at each row that is deleted.
            connection.execute(sa.update(Ticket).values(parentId=None))

            for table in reversed(tables):
                connection.execute(sa.delete(table))

            for table, rows in tables.items():
                connection.execute(sa.insert(table), rows)

    def client(self, id=None):
        """A client in which a person has logged in."""
        user = None if id is None else self.records["people"].get(id)
        return self.records.client(self.app, user=user)

    def find(self, path, query=None, id=1):
        """The identifiers of the records that a client finds."""
        found = self.client(id).service(path).find(query or {})
        records = found["data"] if isinstance(found, dict) else found
        return [record["id"] for record in records]


CONFIG = {"RECORDS_AUTHENTICATION": {"secret": SECRET}}
