"""Values of types that one database has, and values that do not fit their column.

The types of the page on databases are tried in tests/http/differential.
"""

import enum
import json
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import mapped_column

from ..databases import DATABASES, serving_models, url_of
from ..models import model_of

ALL = ("sqlite", "postgresql", "mariadb")
POSTGRESQL, MARIADB, SQLITE = ("postgresql",), ("mariadb",), ("sqlite",)

# SQLAlchemy 2.1 warns of its own types.
pytestmark = pytest.mark.filterwarnings("ignore:Type object")


class Size(enum.Enum):
    small = "S"
    tiny = "S"
    large = "L"


class Clock(sa.TypeDecorator):
    """Times by a type of the application."""

    impl = sa.DateTime
    cache_ok = True


class Unknown(sa.types.NullType):
    """A type that SQLAlchemy does not know, as it is reflected."""

    __visit_name__ = "user_defined"

    def get_col_spec(self, **options):
        return "POINT"


class TimeOfDay(sa.TypeDecorator):
    """Times of day by a type of the application."""

    impl = sa.Time
    cache_ok = True


LETTERS = sa.Enum(Size, values_callable=lambda sizes: [each.value for each in sizes])


MATRIX = postgresql.ARRAY(sa.SmallInteger, dimensions=2)
MATRIX_OF_LETTERS = postgresql.ARRAY(LETTERS, dimensions=2)
AWARE = sa.DateTime(timezone=True)
DIGITS = "has more digits than SQLite keeps"
ROUNDED = "has more than 15 digits: send it as text"
MISFIT = "does not fit its column"
PLAIN = sa.Numeric(12, 4, asdecimal=False)


def client_of(type_, url):
    """A client of a service whose records have one value."""

    model = model_of(
        value=mapped_column(type_),
        note=mapped_column(sa.String(20)),
        hybrid=hybrid_property(lambda self: self.value),
    )
    citext = sa.DDL("CREATE EXTENSION IF NOT EXISTS citext")
    is_on_postgresql = citext.execute_if(dialect="postgresql")
    sa.event.listen(model.__table__, "before_create", is_on_postgresql)
    return serving_models(url, {"things": model})


def text_of(value):
    return quote(value if isinstance(value, str) else json.dumps(value))


def on_databases(cases):
    """Each case on each of its databases that there is."""
    return [
        pytest.param(database, *case, id=f"{database}-{case[0]}-{case[1]!r:.30}")
        for databases, *case in cases
        for database in databases
        if database in DATABASES
    ]


@pytest.fixture
def url_on(server_urls):
    """A function that returns the URL of an empty database."""
    return lambda database: url_of(database, server_urls)


@pytest.mark.parametrize(
    ("database", "type_", "sent", "expected"),
    on_databases(
        [
            (ALL, sa.Float(53, asdecimal=True), 1 / 3, 1 / 3),
            (ALL, sa.Numeric(10), 0, "0"),
            (ALL, sa.Numeric(18, 4), 12345678901.1234, "12345678901.1234"),
            (ALL, LETTERS, "L", "L"),
            (SQLITE, sa.Enum(Size, omit_aliases=False), "tiny", "small"),
            (ALL, TimeOfDay(), "12:30:00", "12:30:00"),
            (POSTGRESQL, MATRIX, [[1, 2], [3, 4]], [[1, 2], [3, 4]]),
            (POSTGRESQL, sa.ARRAY(sa.Float), [0.1, None], [0.1, None]),
            (POSTGRESQL, sa.ARRAY(postgresql.MONEY), ["1.5"], ["$1.50"]),
            (POSTGRESQL, sa.ARRAY(postgresql.CITEXT), ["Ab", "c"], ["Ab", "c"]),
        ]
    ),
)
def test_an_answered_value_is_found_and_taken_back(
    url_on, database, type_, sent, expected
):
    """That of an expression, too."""
    with client_of(type_, url_on(database)) as client:
        record = client.post("/things", json={"value": sent}).json
        text = text_of(record["value"])

        assert record["value"] == record["hybrid"] == expected
        assert client.get(f"/things?value={text}&hybrid={text}").json == [record]
        assert client.put("/things/1", json={"value": expected}).json == record


@pytest.mark.skipif("postgresql" not in DATABASES, reason="No PostgreSQL")
def test_a_stored_value_that_python_does_not_have_is_no_error_of_the_client(
    url_on, caplog
):
    with client_of(sa.Date(), url_on("postgresql")) as client:
        client.post("/things", json={"note": "a", "value": "2026-01-01"})

        with client.application.app_context(), client.db.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE thing SET value = 'infinity'")

        answers = [client.get("/things"), client.patch("/things/1", json={"note": "b"})]

        assert [each.status_code for each in answers] == [500, 500]
        assert client.get("/things?$select=note&note=a").json == [
            {"id": 1, "note": "a"}
        ]

    assert "infinity" in caplog.text


@pytest.mark.parametrize(
    ("database", "type_", "sent", "stored"),
    on_databases(
        [
            # A member that the class does not have any more.
            (ALL, sa.Enum(Size, native_enum=False), "large", "big"),
            # SQLAlchemy splits the text of one dimension only.
            (POSTGRESQL, MATRIX_OF_LETTERS, [["S"], ["L"]], None),
        ]
    ),
)
def test_a_value_that_sqlalchemy_can_not_load_is_changed_and_removed(
    url_on, database, type_, sent, stored
):
    with client_of(type_, url_on(database)) as client:
        client.post("/things", json=[{"value": sent}, {"note": "a"}])

        with client.application.app_context(), client.db.engine.begin() as connection:
            if stored is not None:
                update = f"UPDATE thing SET value = '{stored}' WHERE id = 1"
                connection.exec_driver_sql(update)

        noted = client.patch("/things", json={"note": "b"})
        corrected = client.patch("/things", json={"value": sent})
        removed = client.delete("/things")

    answers = [noted, corrected, removed]
    assert [each.status_code for each in answers] == [200] * 3
    assert noted.json[0]["value"] == (stored or sent)
    assert [each["value"] for each in removed.json] == [sent, sent]


@pytest.mark.skipif("mariadb" not in DATABASES, reason="No MariaDB")
def test_a_span_of_mariadb_is_left_out_of_its_record(url_on, caplog):
    with client_of(sa.Time(), url_on("mariadb")) as client:
        client.post("/things", json=[{"value": "12:30:00"}] * 3)

        with client.application.app_context(), client.db.engine.begin() as connection:
            for id, span in {2: "30:00:00", 3: "-01:30:00"}.items():
                update = f"UPDATE thing SET value = '{span}' WHERE id = {id}"
                connection.exec_driver_sql(update)

        found = client.get("/things?$sort[id]=1").json
        changed = client.patch("/things", json={"note": "a"}).json
        least = client.get("/things?value%5B$lte%5D=12:30:00&$sort%5Bid%5D=1").json

    assert [each.get("value") for each in found] == ["12:30:00", None, None]
    assert ["value" in each for each in changed] == [True, False, False]
    assert [each["id"] for each in least] == [1, 3]
    assert "1 day, 6:00:00 is not a time of day" in caplog.text


@pytest.mark.skipif("postgresql" not in DATABASES, reason="No PostgreSQL")
@pytest.mark.parametrize("item", [sa.JSON, postgresql.JSONB])
def test_arrays_of_documents_are_compared_with_null_only(url_on, item):
    with client_of(sa.ARRAY(item), url_on("postgresql")) as client:
        record = client.post("/things", json={"value": [{"a": 1}]}).json
        refused = [
            client.get(f"/things?value{operator}=%5B%7B%22a%22:1%7D%5D").status_code
            for operator in ("", "%5B$ne%5D", "%5B$in%5D")
        ]

        assert record["value"] == [{"a": 1}]
        assert client.get("/things?value%5B$ne%5D=null").json == [record]
        assert refused == [400, 400, 400]


@pytest.mark.parametrize(
    ("database", "type_", "value", "problem"),
    on_databases(
        [
            (SQLITE, sa.Numeric(), "12345678901234567.1", DIGITS),
            (SQLITE, sa.Numeric(), "1e400", DIGITS),
            (ALL, sa.Numeric(10), "9.9", "has more than 0 decimal places"),
            (ALL, sa.Numeric(18, 4), 12345678901234.1234, ROUNDED),
            (ALL, sa.BigInteger(), float(2**53 + 1), ROUNDED),
            (ALL, PLAIN, 0.12345, "has more than 4 decimal places"),
            (ALL, PLAIN, 1e300, "is out of range"),
            (POSTGRESQL, sa.CHAR(5), "\0", "has a NUL character"),
            (MARIADB, sa.Numeric(), "9.9", "has more than 0 decimal places"),
            (MARIADB, mysql.TIMESTAMP(), "2107-01-01", MISFIT),
            (POSTGRESQL, AWARE, "9999-12-31T23:00:00Z", "is out of range"),
            (POSTGRESQL, AWARE, "0001-01-01T01:00:00Z", "is out of range"),
            (MARIADB, sa.Uuid(), "12345678-1234-8234-1234-123456789012", MISFIT),
            (POSTGRESQL, MATRIX, [1], "is not a list"),
            (POSTGRESQL, MATRIX, [[2**15]], "is out of range"),
        ]
    ),
)
def test_a_value_that_a_database_cannot_hold_is_refused(
    url_on, database, type_, value, problem
):
    with client_of(type_, url_on(database)) as client:
        client.post("/things", json={"note": "a"})

        answers = [
            client.post("/things", json={"note": "b", "value": value}),
            client.patch("/things/1", json={"note": "b", "value": value}),
            client.patch("/things", json={"value": value}),
        ]

        assert [(answer.status_code, answer.json["errors"]) for answer in answers] == [
            (400, {"value": problem})
        ] * 3
        assert [each["note"] for each in client.get("/things").json] == ["a"]


@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
@pytest.mark.parametrize("value", [5, 1.5, True, "x", [1]])
def test_a_value_that_does_not_fit_an_unknown_type_is_refused(url_on, database, value):
    model = model_of(at=sa.Column(Unknown()))

    with serving_models(url_on(database), {"places": model}) as client:
        answers = [client.post("/places", json={"at": value})]
        answers += [client.post("/places", json=[{"at": value}])]
        answers += [client.get("/places", query_string={"at": json.dumps(value)})]

        assert [answer.status_code for answer in answers] == [400, 400, 400]


@pytest.mark.parametrize("database", DATABASES)
def test_a_time_that_sql_writes_is_found_by_the_value_that_is_shown(url_on, database):
    at = mapped_column(sa.DateTime(), server_default=sa.func.now())
    model = model_of(at=at, text=mapped_column(sa.String(20)))

    with serving_models(url_on(database), {"notes": model}) as client:
        client.post("/notes", json={"text": "Hi"})
        note = client.patch("/notes/1", json={"text": "Hello"}).json
        at, other = quote(note["at"]), "2020-01-01T00:00:00"
        expected = {
            f"at={at}": [note],
            f"at[$in][]={at}&at[$in][]={other}": [note],
            f"at[$in][]={at}&at[$in][]=null": [note],
            f"at[$nin][]={at}&at[$nin][]={other}": [],
            f"at[$ne]={at}": [],
            f"at[$gte]={at}": [note],
            f"at[$lte]={at}": [note],
            f"at[$gt]={at}": [],
            f"at[$lt]={at}": [],
            f"at={other}": [],
            f"at[$ne]={other}": [note],
            f"at[$gt]={other}": [note],
            "at=null": [],
            "at[$ne]=null": [note],
        }

        for _ in "first", "again":
            found = {query: client.get(f"/notes?{query}").json for query in expected}
            assert found == expected


def test_a_time_that_other_programs_wrote_on_sqlite_is_found():
    model = model_of(at=mapped_column(sa.DateTime()))

    with serving_models("sqlite://", {"notes": model}) as client:
        with client.application.app_context():
            insert = "INSERT INTO thing (at) VALUES ('2026-01-01 12:00:00')"
            client.db.session.execute(sa.text(insert))
            client.db.session.commit()

        [note] = client.get("/notes").json
        assert client.get(f"/notes?at={note['at']}").json == [note]


SECONDS = sqlite.DATETIME(truncate_microseconds=True)


@pytest.mark.parametrize(
    "type_", [SECONDS, sa.DateTime().with_variant(SECONDS, "sqlite")]
)
def test_a_time_of_a_type_of_sqlite_is_found_by_its_own_form(type_):
    model = model_of(at=mapped_column(type_))

    with serving_models("sqlite://", {"notes": model}) as client:
        note = client.post("/notes", json={"at": "2026-01-01T12:00:00Z"}).json

        assert client.get(f"/notes?at[$in][]={note['at']}").json == [note]


@pytest.mark.parametrize("fraction", ["", ".1", ".120", ".123000", ".000000"])
@pytest.mark.parametrize(
    ("type_", "start"),
    [
        (sa.DateTime(timezone=True), "2026-01-02 03:04:00"),
        (sa.Time(), "03:04:00"),
        (Clock(), "2026-01-02 03:04:00"),
    ],
)
def test_a_time_is_found_whatever_digits_sqlite_stores(type_, start, fraction):
    model = model_of(at=mapped_column(type_, server_default=sa.func.now()))

    with serving_models("sqlite://", {"notes": model}) as client:
        with client.application.app_context():
            at, session = f"{start}{fraction}", client.db.session
            session.execute(sa.text(f"INSERT INTO thing VALUES (1, '{at}')"))
            session.commit()

        notes = client.get("/notes").json
        shown = quote(notes[0]["at"])

        for operator, expected in {
            "": notes,
            "[$gte]": notes,
            "[$lte]": notes,
            "[$in]": notes,
            "[$lt]": [],
            "[$gt]": [],
            "[$ne]": [],
        }.items():
            assert client.get(f"/notes?at{operator}={shown}").json == expected

        many = "&".join(
            f"at[$in][]={start[:-8]}{i // 60:02}:{i % 60:02}:01" for i in range(900)
        )
        assert client.get(f"/notes?{many}&at[$in][]={shown}").status_code == 200
