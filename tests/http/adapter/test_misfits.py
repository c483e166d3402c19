"""Values that a database refuses are 400, with the name of the field if the database
tells it, or if it is the only one.
"""

from __future__ import annotations

from urllib.parse import quote

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from ...databases import served
from ...databases import url_of

MISFIT = "does not fit its column"
BAD_PATTERN = "is not a regular expression of the database"
OPERATORS = ["$like", "$ilike", "$regex", "$search", "$null"]


class Even(sa.TypeDecorator):
    """Even integers."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        if value is not None and value % 2:
            raise ValueError("secret")

        return value


class Base(DeclarativeBase):
    pass


class Thing(Base):
    __tablename__ = "misfit_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    even: Mapped[int | None] = mapped_column(Even)
    other: Mapped[int | None] = mapped_column(Even)
    note: Mapped[str | None] = mapped_column(sa.String(20))


def client_of(request, url, base=Base, model=Thing):
    records, db = FlaskRecords(), SQLAlchemy(model_class=base)
    service = SQLAlchemyService(model, multi=True, whitelist=OPERATORS)
    records.add("things", service, public=True)
    context = served(db, records, url)
    app = context.__enter__()
    request.addfinalizer(lambda: context.__exit__(None, None, None))
    client = app.test_client()
    client.post("/things", json={"note": "a"})
    return client


@pytest.fixture
def things(request, database_url):
    return client_of(request, database_url)


def answer(response):
    return response.status_code, response.json["errors"]


BODIES = [
    ("post", "/things", {"even": 1}, {"even": MISFIT}),
    ("post", "/things", {"even": 2, "other": 3, "note": "b"}, {"other": MISFIT}),
    ("post", "/things", [{"even": 2}, {"even": 1}], {"even": MISFIT}),
    ("patch", "/things/1", {"even": 1}, {"even": MISFIT}),
    ("patch", "/things", {"even": 1}, {"even": MISFIT}),
    ("put", "/things/1", {"even": 1}, {"even": MISFIT}),
]


@pytest.mark.parametrize(("verb", "path", "body", "errors"), BODIES)
def test_a_type_of_the_application_refuses_a_value(things, verb, path, body, errors):
    response = getattr(things, verb)(path, json=body)

    assert answer(response) == (400, errors)
    assert "secret" not in response.text


@pytest.mark.parametrize("verb", ["get", "patch", "delete"])
@pytest.mark.parametrize("path", ["/things", "/things/1"])
def test_a_type_of_the_application_refuses_a_value_of_a_query(things, verb, path):
    body = {"json": {"note": "b"}} if verb == "patch" else {}
    response = getattr(things, verb)(f"{path}?other[$gt]=2&even[$in]=1", **body)

    assert answer(response) == (400, {"even": MISFIT})
    assert [each["note"] for each in things.get("/things").json] == ["a"]


class OnMariaDB(DeclarativeBase):
    pass


class Stamp(OnMariaDB):
    __tablename__ = "misfit_stamp"
    __table_args__ = {"mariadb_charset": "latin1"}

    id: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[str | None] = mapped_column(sa.String(20))
    title: Mapped[str | None] = mapped_column(sa.String(20))
    stamp = mapped_column(mysql.TIMESTAMP, nullable=True)


@pytest.fixture
def stamps(request, server_urls):
    return client_of(request, url_of("mariadb", server_urls), OnMariaDB, Stamp)


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("note[$regex]=\\N{DIGIT ONE}", {"note": BAD_PATTERN}),
        ("note=🎉", {"note": MISFIT}),
        ("note=🎉&title=a", {}),
        ("note[$in][]=é&note[$in][]=ł", {"note": MISFIT}),
        ("note[$search]=🎉", {"note": MISFIT}),
        ("note[$ilike]=🎉", {"note": MISFIT}),
        ("title[$regex]=🎉", {"title": MISFIT}),
    ],
)
def test_a_query_that_mariadb_refuses_names_its_only_field(stamps, query, errors):
    response = stamps.get(f"/things?{query}")

    assert answer(response) == (400, errors)


def test_patterns_are_matched_in_any_character_set(stamps):
    stamps.post("/things", json={"note": "Zoë"})
    notes = [
        [each["note"] for each in stamps.get(f"/things?note[$like]={like}").json]
        for like in ("Zo_", "zo_", "%ë", "🎉%")
    ]

    assert notes == [["Zoë"], [], ["Zoë"], []]


@pytest.mark.parametrize("verb", ["patch", "delete"])
def test_a_time_that_mariadb_cannot_hold_is_not_found(stamps, verb):
    body = {"json": {"note": "b"}} if verb == "patch" else {}
    response = getattr(stamps, verb)("/things/1?stamp=0001-01-01", **body)

    assert response.status_code == 404
    assert len(stamps.get("/things").json) == 1


def test_characters_that_a_column_lacks_are_refused(stamps):
    body = {"note": "🎉", "title": "ok"}

    assert answer(stamps.post("/things", json=body)) == (400, {"note": MISFIT})
    assert answer(stamps.patch("/things/1", json=body)) == (400, {"note": MISFIT})


class Points(sa.TypeDecorator):
    """A type of the application that expects its own values only."""

    impl = sa.Integer
    cache_ok = True

    def process_bind_param(self, value, dialect):
        return None if value is None else value.number


class Point(sa.types.UserDefinedType):
    """A type that PostgreSQL neither sorts nor compares."""

    cache_ok = True

    def get_col_spec(self, **options):
        return "point"


class OnPostgreSQL(DeclarativeBase):
    pass


class Host(OnPostgreSQL):
    __tablename__ = "misfit_host"

    id: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[str | None] = mapped_column(sa.Text, index=True)
    address = mapped_column(postgresql.INET)
    network = mapped_column(postgresql.CIDR)
    matrix = mapped_column(postgresql.ARRAY(sa.Integer, dimensions=2))
    numbers = mapped_column(postgresql.ARRAY(sa.Integer, dimensions=2))
    hardware = mapped_column(postgresql.MACADDR)
    span = mapped_column(postgresql.INT4RANGE)
    spans = mapped_column(postgresql.INT4MULTIRANGE)
    words = mapped_column(postgresql.TSVECTOR)
    path = mapped_column(postgresql.JSONPATH)
    place = mapped_column(Point)
    points: Mapped[int | None] = mapped_column(Points)


@pytest.fixture
def hosts(request, server_urls):
    return client_of(request, url_of("postgresql", server_urls), OnPostgreSQL, Host)


HOSTS = [
    ({"network": "10.0.0.1/8"}, {"network": MISFIT}),
    ({"address": "10.0.0.999"}, {"address": MISFIT}),
    ({"matrix": [[1], [2, 3]]}, {"matrix": MISFIT}),
    ({"matrix": [[1], [2, 3]], "numbers": [[1]]}, {}),
    ({"hardware": "x"}, {"hardware": MISFIT}),
    ({"note": "b", "span": "[3,1)"}, {}),
    ({"spans": "{"}, {"spans": MISFIT}),
    ({"words": "'"}, {"words": MISFIT}),
    ({"path": "$$$"}, {"path": MISFIT}),
    ({"note": "b", "points": 5}, {"points": MISFIT}),
]


@pytest.mark.parametrize(("body", "errors"), HOSTS)
def test_a_value_that_postgresql_refuses_names_its_only_field(hosts, body, errors):
    assert answer(hosts.post("/things", json=body)) == (400, errors)
    assert answer(hosts.patch("/things/1", json=body)) == (400, errors)


def test_a_text_that_an_index_of_postgresql_refuses(hosts):
    text = "".join(chr(0x4E00 + index * 7919 % 20000) for index in range(9000))

    response = hosts.post("/things", json={"note": text})

    assert answer(response) == (400, {"note": MISFIT})


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("address=10.0.0.999", {"address": MISFIT}),
        (f"note={quote(chr(0))}", {"note": "has a NUL character"}),
        ("note[$regex]=(?P<x>b)", {"note": BAD_PATTERN}),
        ("words='", {"words": MISFIT}),
        ("place=(1,2)", {"place": "can't be sorted or compared"}),
        ("$sort[place]=1", {"place": "can't be sorted or compared"}),
        ("points=5", {"points": MISFIT}),
    ],
)
def test_a_query_that_postgresql_refuses_names_its_only_field(hosts, query, errors):
    assert answer(hosts.get(f"/things?{query}")) == (400, errors)
