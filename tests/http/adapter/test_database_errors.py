"""Errors of a database are told by field, and alike on every database."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import (
    BadRequest,
    Conflict,
    FlaskRecords,
    GeneralError,
    SQLAlchemyService,
)

from ...databases import DATABASES, serving_models, url_of
from ...models import model_of


class Base(DeclarativeBase):
    pass


class Owner(Base):
    __tablename__ = "error_owner"

    id: Mapped[int] = mapped_column(primary_key=True)
    books: Mapped[list[Book]] = relationship()


class Thing(Base):
    """One constraint of each kind."""

    __tablename__ = "error_thing"
    __table_args__ = (
        sa.UniqueConstraint("serial", name="serials_are_unique"),
        sa.UniqueConstraint("row_number_", "place", name="one_at_a_place"),
        sa.UniqueConstraint("x", "y"),
        sa.Index("labels_are_unique", "label", unique=True),
        sa.CheckConstraint("amount >= 0", name="amounts_are_not_negative"),
        sa.CheckConstraint("low < high", name="low_below_high"),
        sa.CheckConstraint("label <> 'code'", name="labels_are_no_codes"),
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
    low: Mapped[int | None]
    high: Mapped[int | None]
    needed: Mapped[str] = mapped_column(sa.String(20), server_default="x")
    owner_id: Mapped[int | None] = mapped_column(sa.ForeignKey("error_owner.id"))
    backup_id: Mapped[int | None] = mapped_column(sa.ForeignKey("error_owner.id"))
    secret: Mapped[str | None] = mapped_column(sa.String(20), unique=True)


class Book(Base):
    """A key that can't be null, and can't be set to null by the unit of work."""

    __tablename__ = "error_book"

    id: Mapped[int] = mapped_column(primary_key=True)
    owner_id: Mapped[int] = mapped_column(sa.ForeignKey("error_owner.id"))


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
    with things_served(module_url) as client:
        yield client.application


def things_served(url):
    options = {"multi": True, "client_ids": True}
    services = {
        "loose": SQLAlchemyService(LooseThing, **options),
        "things": SQLAlchemyService(Thing, hidden=["secret"], **options),
        "owners": SQLAlchemyService(Owner, **options),
    }
    return serving_models(url, services, FlaskRecords(logger=False))


@pytest.fixture
def app(app_of_module):
    """An app of each database, with three owners and two things."""
    rows = {
        Owner: [{"id": id} for id in range(1, 4)],
        Thing: [ONE, TWO],
        Book: [{"id": 1, "owner_id": 2}],
    }

    with app_of_module.app_context():
        with app_of_module.extensions["sqlalchemy"].engine.begin() as connection:
            for table in reversed(Base.metadata.sorted_tables):
                connection.execute(table.delete())

            for model, values in rows.items():
                for each in values:
                    connection.execute(sa.insert(model).values(**each))

    return app_of_module


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
    "Other records still refer to this one.", errors={"id": "is still referred to"}
)


def broken(*names):
    why = "breaks a rule of the database"
    text = f"'{names[0]}' {why}." if len(names) == 1 else f"The data {why}."
    return BadRequest(text, errors=dict.fromkeys(names, why))


ERRORS = [
    ("POST", "/things", {"id": 1}, taken("id")),
    ("POST", "/things", {"id": 7, "code": "c"}, taken("code")),
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
    ("PUT", "/things/2", {"serial": "s"}, taken("serial")),
    ("POST", "/things", {"id": 7, "owner_id": 9}, dangling("owner_id")),
    ("PATCH", "/things/1", {"backup_id": 9}, dangling("backup_id")),
    ("DELETE", "/owners/1", None, REFERRED_TO),
    ("POST", "/things", {"id": 7, "amount": -1}, broken("amount")),
    ("POST", "/things", {"id": 7, "low": 2, "high": 1}, broken("low", "high")),
    ("POST", "/things", {"id": 7, "label": "code"}, broken("label")),
    ("DELETE", "/owners/2", None, REFERRED_TO),
    ("POST", "/loose", {"id": 9, "needed": None}, REQUIRED),
]


@pytest.mark.parametrize(("verb", "path", "body", "error"), ERRORS)
def test_every_database_answers_the_same(app, client, verb, path, body, error):
    before = client.get("/things").json

    response = client.open(path, method=verb, json=body)

    assert (response.status_code, response.json) == (error.code, error.to_dict())
    assert client.get("/things").json == before

    with app.app_context():
        pool = app.extensions["sqlalchemy"].engine.pool

    assert isinstance(pool, sa.StaticPool) or pool.checkedout() == 0


def test_identifiers_that_the_database_replaces_are_refused(client, module_url):
    response = client.post("/owners", json=[{"id": 0}, {"id": 9}])

    # MariaDB takes the identifier 0 for a request to generate one.
    if module_url.startswith("mariadb"):
        errors = {"id": "is not kept by the database"}
        assert (response.status_code, response.json["errors"]) == (400, errors)
    else:
        assert (response.status_code, response.json) == (201, [{"id": 0}, {"id": 9}])


@pytest.mark.parametrize("verb", ["POST", "PATCH"])
def test_the_values_of_the_rejected_record_are_not_told(client, verb):
    path = "/things" if verb == "POST" else "/things/2"
    body = {"id": 7, "secret": "s3cret", "label": "private", "owner_id": 2}

    response = client.open(path, method=verb, json=body)

    assert response.status_code == 409
    assert not any(word in response.text for word in ("s3cret", "private", "error_"))


def test_a_reference_that_a_hook_sets_is_not_named_to_whom_it_is_hidden(database_url):
    service = SQLAlchemyService(Thing, fields=["code"])

    def set_owner(method, context):
        context.data["owner_id"] = 9

    with serving_models(database_url, {"things": service}) as client:
        client.records.before("create")(set_owner)
        response = client.post("/things", json={"code": "new"})

    assert (response.status_code, response.json["errors"]) == (409, {})
    assert "owner" not in response.text


@pytest.fixture
def broken(database_url):
    """A client of a service whose table is gone."""
    with things_served(database_url) as client:
        with client.application.app_context():
            client.db.drop_all()

        yield client


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


class Label(Base):
    """Its names are unique in any case, which MariaDB has no index for."""

    __tablename__ = "error_label"
    __table_args__ = (
        sa.Index("names_ignore_case", sa.text("lower(name_)"), unique=True).ddl_if(
            dialect=["sqlite", "postgresql"]
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column("name_", sa.String(20))
    lower: Mapped[str | None] = mapped_column(sa.String(20))


def test_unique_index_of_an_expression_names_its_field(database_url):
    if database_url.startswith("mariadb"):
        pytest.skip("MariaDB has no index of an expression.")

    with serving_models(database_url, {"labels": Label}) as client:
        client.post("/labels", json={"name": "Red"})
        response = client.post("/labels", json={"name": "red"})

    assert (response.status_code, response.json["errors"]) == (
        409,
        {"name": "has to be unique"},
    )


def test_stored_value_that_python_can_not_read_is_an_error_of_the_server():
    model = model_of(day=mapped_column(sa.Date), clock=mapped_column(sa.Time))
    insert = sa.text("INSERT INTO thing (id, day) VALUES (1, 'soon')")

    with serving_models("sqlite://", {"dated": model}) as client:
        with client.application.app_context(), client.db.engine.begin() as connection:
            connection.execute(insert)

        answers = [
            client.get("/dated"),
            client.patch("/dated/1", json={"clock": "10:00:00"}),
            client.delete("/dated/1"),
        ]

    assert [each.status_code for each in answers] == [500] * 3
    assert not any("soon" in each.text for each in answers)


@pytest.mark.parametrize("database", [d for d in DATABASES if d != "mariadb"])
@pytest.mark.parametrize("has_hook", [False, True])
def test_an_error_of_the_commit_names_its_field(database, server_urls, has_hook):
    class Base(DeclarativeBase):
        pass

    class Leaf(Base):
        __tablename__ = "leaf"

        id: Mapped[int] = mapped_column(primary_key=True)
        text: Mapped[str | None] = mapped_column(sa.String(20))
        parent_id: Mapped[int | None] = mapped_column(
            sa.ForeignKey(id, deferrable=True, initially="DEFERRED")
        )

    problem = {"parent_id": "refers to a record that is not there"}
    body = {"text": "a", "parent_id": 9}

    with serving_models(url_of(database, server_urls), {"leaves": Leaf}) as client:
        if has_hook:
            client.records.after()(lambda method, context: None)

        client.post("/leaves", json=[{"text": "root"}, {"parent_id": 1}])
        refused = [
            client.post("/leaves", json=body),
            client.post("/leaves", json=[{"text": "b"}, body]),
            client.patch("/leaves/1", json={"parent_id": 9}),
            client.put("/leaves/1", json=body),
        ]

        for response in refused:
            assert response.status_code == 409
            assert response.json["errors"] == problem

        leaves = client.records["leaves"]

        @leaves.after("create")
        def create_another(method, context):
            if context.data["text"] != "c":
                leaves.as_caller(context.params).create({"text": "c"})

        assert client.post("/leaves", json=body).json["errors"] == problem

        removed = client.delete("/leaves/1")
        assert removed.status_code == 409
        assert [*removed.json["errors"]] == ["id"]
        assert len(client.get("/leaves").json) == 2


def test_a_default_that_fails_names_no_field_of_the_body(database_url):
    class Own(DeclarativeBase):
        pass

    class Part(Own):
        __tablename__ = "error_part"
        __table_args__ = (sa.CheckConstraint("size > 0", name="sized"),)

        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str | None] = mapped_column(sa.String(20))
        size: Mapped[int] = mapped_column(default=lambda: -1)

    with serving_models(database_url, {"parts": Part}) as client:
        # The model does not know the constraint.
        Part.__table__.constraints -= {
            each for each in Part.__table__.constraints if each.name == "sized"
        }
        response = client.post("/parts", json={"name": "A"})

    assert (response.status_code, response.json["errors"]) == (400, {})
