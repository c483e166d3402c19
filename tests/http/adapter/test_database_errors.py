from __future__ import annotations

import sqlite3
from contextlib import suppress
from threading import Barrier
from threading import Thread

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import BadRequest
from flask_records import Conflict
from flask_records import FlaskRecords
from flask_records import GeneralError
from flask_records import SQLAlchemyService
from flask_records import Unavailable

from ...databases import served
from ...databases import url_of


class Base(DeclarativeBase):
    pass


class Owner(Base):
    __tablename__ = "error_owner"

    id: Mapped[int] = mapped_column(primary_key=True)


class Thing(Base):
    """One constraint of each kind."""

    __tablename__ = "error_thing"
    __table_args__ = (
        sa.UniqueConstraint("serial", name="serials_are_unique"),
        sa.UniqueConstraint("row_number_", "place", name="one_at_a_place"),
        sa.UniqueConstraint("x", "y"),
        sa.Index("labels_are_unique", "label", unique=True),
        sa.CheckConstraint("amount >= 0", name="amounts_are_not_negative"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str | None] = mapped_column(sa.String(20), unique=True)
    serial: Mapped[str | None] = mapped_column(sa.String(20))
    row: Mapped[int | None] = mapped_column("row_number_")
    place: Mapped[int | None]
    x: Mapped[int | None]
    y: Mapped[int | None]
    label: Mapped[str | None] = mapped_column(sa.String(20))
    amount: Mapped[int | None]
    needed: Mapped[str] = mapped_column(sa.String(20), server_default="x")
    owner_id: Mapped[int | None] = mapped_column(sa.ForeignKey("error_owner.id"))
    backup_id: Mapped[int | None] = mapped_column(sa.ForeignKey("error_owner.id"))
    secret: Mapped[str | None] = mapped_column(sa.String(20), unique=True)


class LooseBase(DeclarativeBase):
    pass


class LooseThing(LooseBase):
    """The same table, but the model knows nothing of its rules."""

    __tablename__ = "error_thing"

    id: Mapped[int] = mapped_column(primary_key=True)
    needed: Mapped[str | None]


ONE = {
    "id": 1,
    "code": "c",
    "serial": "s",
    "row": 1,
    "place": 2,
    "x": 3,
    "y": 4,
    "label": "l",
    "owner_id": 1,
    "secret": "s3cret",
}
TWO = {"id": 2}


@pytest.fixture(scope="module")
def app_of_module(module_url):
    with things_served(module_url) as app:
        yield app


def things_served(url, **options):
    records = FlaskRecords(logger=False)
    things = SQLAlchemyService(Thing, multi=True, hidden=["secret"], client_ids=True)
    records.add("things", things, public=True)
    records.add("owners", SQLAlchemyService(Owner, client_ids=True), public=True)
    records.add("loose", SQLAlchemyService(LooseThing, client_ids=True), public=True)
    return served(SQLAlchemy(model_class=Base, **options), records, url)


@pytest.fixture
def app(app_of_module):
    """An app of each database, with two owners and two things."""
    fill(app_of_module)
    return app_of_module


def fill(app):
    with app.app_context():
        # Other tests of this file drop the tables that they share with it.
        Base.metadata.create_all(app.extensions["sqlalchemy"].engine)
        session = app.extensions["sqlalchemy"].session
        session.execute(sa.delete(Thing))
        session.execute(sa.delete(Owner))
        session.add_all([Owner(id=1), Owner(id=2)])
        session.flush()
        session.add_all([Thing(**ONE), Thing(**TWO)])
        session.commit()


def taken(*names):
    quoted = ", ".join(f"'{name}'" for name in names)
    return Conflict(
        f"There is a record with this {quoted} already.",
        errors=dict.fromkeys(names, "has to be unique"),
    )


def dangling(name):
    why = "refers to a record that is not there"
    return Conflict(f"'{name}' {why}.", errors={name: why})


REQUIRED = BadRequest("'needed' is required.", errors={"needed": "is required"})
REFERRED_TO = Conflict(
    "Other records still refer to this one.",
    errors={"id": "is still referred to"},
)
UNNAMED_REFERENCE = Conflict(
    "Other records refer to this one, or it to one that is not there."
)
BROKEN_RULE = BadRequest(
    "'amount' breaks a rule of the database.",
    errors={"amount": "breaks a rule of the database"},
)

ERRORS = [
    ("POST", "/things", {"id": 1}, taken("id")),
    ("POST", "/things", {"id": 7, "code": "c"}, taken("code")),
    ("POST", "/things", {"id": 7, "serial": "s"}, taken("serial")),
    ("POST", "/things", {"id": 7, "row": 1, "place": 2}, taken("row", "place")),
    ("POST", "/things", {"id": 7, "x": 3, "y": 4}, taken("x", "y")),
    ("POST", "/things", {"id": 7, "label": "l"}, taken("label")),
    ("POST", "/things", [{"id": 8}, {"id": 9, "code": "c"}], taken("code")),
    (
        "POST",
        "/things",
        [{"id": 8, "code": "n"}, {"id": 9, "code": "n"}],
        taken("code"),
    ),
    ("PATCH", "/things/2", {"code": "c"}, taken("code")),
    ("PATCH", "/things/2", {"row": 1, "place": 2}, taken("row", "place")),
    ("PATCH", "/things", {"label": "n"}, taken("label")),
    ("PUT", "/things/2", {"serial": "s"}, taken("serial")),
    ("POST", "/things", {"id": 7, "owner_id": 9}, dangling("owner_id")),
    ("PATCH", "/things/1", {"backup_id": 9}, dangling("backup_id")),
    ("PATCH", "/things", {"owner_id": 9}, dangling("owner_id")),
    ("PUT", "/things/2", {"owner_id": 9}, dangling("owner_id")),
    ("DELETE", "/owners/1", None, REFERRED_TO),
    ("POST", "/things", {"id": 7, "amount": -1}, BROKEN_RULE),
    ("PATCH", "/things/1", {"amount": -1}, BROKEN_RULE),
    ("PUT", "/things/1", {"amount": -1}, BROKEN_RULE),
    ("POST", "/loose", {"id": 9, "needed": None}, REQUIRED),
    ("PATCH", "/loose/1", {"needed": None}, REQUIRED),
    ("PUT", "/loose/1", {}, REQUIRED),
]


@pytest.mark.parametrize(("verb", "path", "body", "error"), ERRORS)
def test_every_database_answers_the_same(client, verb, path, body, error):
    before = client.get("/things").json

    response = client.open(path, method=verb, json=body)

    assert (response.status_code, response.json) == (error.code, error.to_dict())
    assert client.get("/things").json == before


@pytest.mark.parametrize("verb", ["POST", "PATCH"])
def test_the_values_of_the_rejected_record_are_not_told(client, verb):
    path = "/things" if verb == "POST" else "/things/2"
    body = {"id": 7, "secret": "s3cret", "label": "private", "owner_id": 2}

    response = client.open(path, method=verb, json=body)

    assert response.status_code == 409
    assert not any(word in response.text for word in ("s3cret", "private", "error_"))


def test_one_of_two_references_is_dangling(client):
    response = client.post("/things", json={"id": 7, "owner_id": 1, "backup_id": 9})

    assert (response.status_code, response.json["name"]) == (409, "Conflict")


def test_connections_are_given_back_after_errors(app, client):
    for verb, path, body, _ in ERRORS:
        client.open(path, method=verb, json=body)

    with app.app_context():
        pool = app.extensions["sqlalchemy"].engine.pool

    assert not hasattr(pool, "checkedout") or pool.checkedout() == 0


class LateBase(DeclarativeBase):
    pass


class Late(LateBase):
    """Rules that not every database has."""

    __tablename__ = "error_late"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str | None] = mapped_column(sa.String(20))
    other_id: Mapped[int | None] = mapped_column(
        sa.ForeignKey("error_late.id", deferrable=True, initially="DEFERRED")
    )

    __table_args__ = (
        sa.Index("names_in_lower_case", sa.text("lower(name)"), unique=True),
    )


@pytest.fixture
def late(database_url, records):
    if database_url.startswith("mariadb"):
        pytest.skip("MariaDB has no such rules")

    records.add("late", SQLAlchemyService(Late, client_ids=True), public=True)

    with served(SQLAlchemy(model_class=LateBase), records, database_url) as app:
        yield app.test_client()


def test_an_index_over_an_expression_names_its_field(late):
    late.post("/late", json={"name": "ann"})

    response = late.post("/late", json={"name": "ANN"})

    assert (response.status_code, response.json) == (409, taken("name").to_dict())


def test_a_rule_that_is_looked_at_in_the_end_is_a_conflict(late):
    response = late.post("/late", json={"other_id": 9})

    assert (response.status_code, response.json) == (409, UNNAMED_REFERENCE.to_dict())
    assert late.get("/late").json == []


def busy(response):
    error = Unavailable("The database is busy. Try again.")
    return (response.status_code, response.json) == (503, error.to_dict())


@pytest.fixture
def server_app(database_url):
    if database_url.startswith("sqlite"):
        pytest.skip("On SQLite one writes at a time")

    with things_served(database_url) as app:
        fill(app)
        yield app


def patch_in_opposite_order(app, patch_other):
    """Answer two calls at once, each of which wants what the other has."""
    things = app.extensions["records"]["things"]
    barrier = Barrier(2, timeout=10)
    responses = {}

    @things.after("patch")
    def go_on(method, context):
        if context.params.provider:
            barrier.wait()
            patch_other(things, 3 - int(context.id))

    def patch(id):
        client = app.test_client()
        responses[id] = client.patch(f"/things/{id}", json={"place": id})

    threads = [Thread(target=patch, args=[id]) for id in (1, 2)]

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    return responses


def test_one_of_two_calls_in_a_deadlock_is_told_to_try_again(server_app):
    responses = patch_in_opposite_order(
        server_app, lambda things, id: things.patch(id, {"amount": 1})
    )

    good, bad = sorted(responses.values(), key=lambda each: each.status_code)
    assert good.status_code == 200
    assert busy(bad)


def test_a_hook_can_not_hide_that_a_deadlock_has_undone_the_call(server_app):
    """MariaDB undoes all of the transaction, and not the inner call alone."""

    def patch_other(things, id):
        with suppress(Unavailable):
            things.patch(id, {"amount": 1})

    responses = patch_in_opposite_order(server_app, patch_other)

    stored = {each["id"]: each for each in server_app.test_client().get("/things").json}
    kept = {id for id, each in responses.items() if each.status_code == 200}
    assert kept
    assert {each.status_code for each in responses.values()} <= {200, 503}
    assert {id for id, each in stored.items() if each["place"] == id} == kept


LOCK_TIMEOUTS = {
    "postgresql": "SET lock_timeout = '50ms'",
    "mariadb": "SET innodb_lock_wait_timeout = 1",
}


def test_a_call_that_waits_too_long_for_a_record_is_told_to_try_again(server_app):
    client = server_app.test_client()

    with server_app.app_context():
        engine = server_app.extensions["sqlalchemy"].engine

        @sa.event.listens_for(engine, "checkout")
        def be_impatient(connection, *rest):
            connection.cursor().execute(LOCK_TIMEOUTS[engine.dialect.name])

        with engine.begin() as connection:
            connection.execute(sa.update(Thing).values(amount=7))
            response = client.patch("/things/1", json={"amount": 1})

    assert busy(response)


def test_a_call_that_waits_too_long_for_sqlite_is_told_to_try_again(tmp_path):
    path = tmp_path / "test.db"

    with things_served(f"sqlite:///{path}") as app:
        client = app.test_client()
        client.post("/owners", json={})

        with app.app_context(), app.extensions["sqlalchemy"].engine.connect() as ours:
            ours.exec_driver_sql("PRAGMA busy_timeout = 0")

        other = sqlite3.connect(path)
        other.execute("BEGIN IMMEDIATE")
        response = client.post("/owners", json={})
        other.close()

    assert busy(response)


def test_a_call_that_can_not_be_put_in_order_is_told_to_try_again(server_urls):
    url = url_of("postgresql", server_urls)
    options = {"engine_options": {"isolation_level": "SERIALIZABLE"}}

    with things_served(url, **options) as app:
        owners = app.extensions["records"]["owners"]
        others = []

        def call_another():
            client = app.test_client()
            others.append(client.post("/owners", json={"id": 1}))

        @owners.before("create")
        def look(method, context):
            owners.find()

            if context.data["id"] == 2:
                thread = Thread(target=call_another)
                thread.start()
                thread.join()

        response = app.test_client().post("/owners", json={"id": 2})

    assert others[0].status_code == 201
    assert busy(response)


@pytest.fixture
def broken(database_url):
    """A client of a service whose table is gone."""
    with things_served(database_url) as app:
        with app.app_context():
            Base.metadata.drop_all(app.extensions["sqlalchemy"].engine)

        yield app.test_client()


def test_what_is_broken_is_told_to_the_log_only(broken):
    answers = [
        broken.get("/things?code=s3cret"),
        broken.get("/things/1"),
        broken.post("/things", json=ONE),
        broken.patch("/things/1", json=ONE),
        broken.put("/things/1", json=ONE),
        broken.delete("/things"),
    ]

    error = GeneralError("Internal server error").to_dict()
    assert [(each.status_code, each.json) for each in answers] == [(500, error)] * 6


def test_a_database_that_is_not_there_is_told_to_the_log_only():
    records = FlaskRecords(logger=False)
    engine = sa.create_engine("postgresql+psycopg://nobody@127.0.0.1:9/nothing")
    session = sa.orm.sessionmaker(engine)
    records.add(
        "owners",
        SQLAlchemyService(Owner, session=session, client_ids=True),
        public=True,
    )

    with served(SQLAlchemy(model_class=Base), records, "sqlite://") as app:
        response = app.test_client().get("/owners")

    assert response.status_code >= 500
    assert not any(word in response.text for word in ("nobody", "127.0.0.1", "psycopg"))


@pytest.mark.parametrize(
    ("value", "names"),
    [({"code": "c"}, ["code"]), ({"row": 1, "place": 2}, ["row", "place"])],
)
def test_values_of_a_list_that_are_stored_are_told_by_field(client, value, names):
    bodies = [{"id": 8, "code": "x"}, {"id": 9, "code": "y"} | value, {"id": 10}]

    response = client.post("/things", json=bodies)

    assert response.status_code == 409
    assert response.json["errors"] == dict.fromkeys(names, "has to be unique")
    assert len(client.get("/things").json) == 2
