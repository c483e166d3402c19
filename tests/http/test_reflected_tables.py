"""Tables that were written in SQL, and are reflected."""

from contextlib import ExitStack

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase

from flask_records import SQLAlchemyService

from ..databases import serving_models, url_of

TABLE = "reflected_thing"
KEYS = {
    "sqlite": "INTEGER PRIMARY KEY",
    "postgresql": "SERIAL PRIMARY KEY",
    "mariadb": "INT AUTO_INCREMENT PRIMARY KEY",
}


@pytest.fixture
def client_of(server_urls, tmp_path):
    """A function that returns a client of a table of one column beside its key."""

    def make(database, type_, *statements):
        url = url_of(database, server_urls, tmp_path / "test.db")
        engine = sa.create_engine(url)
        columns = f"id {KEYS[database]}, note VARCHAR(20), value {type_}"

        with engine.begin() as connection:
            for each in (f"CREATE TABLE {TABLE} ({columns})", *statements):
                connection.exec_driver_sql(each.replace("%", "%%"))

        class Base(DeclarativeBase):
            pass

        table = sa.Table(TABLE, Base.metadata, autoload_with=engine)
        engine.dispose()
        model = type("Thing", (Base,), {"__table__": table})
        service = SQLAlchemyService(model, multi=True, client_ids=True)
        return stack.enter_context(serving_models(url, {"things": service}))

    with ExitStack() as stack:
        yield make


@pytest.mark.parametrize(
    ("database", "type_", "other"),
    [
        ("sqlite", "VARCHAR(20) DEFAULT 'a :b 100%s'", "x"),
        ("postgresql", "VARCHAR(20) DEFAULT 'a :b 100%s'", "x"),
        ("mariadb", "VARCHAR(20) DEFAULT 'a :b 100%s'", "x"),
        (
            "mariadb",
            "DATE DEFAULT (LAST_DAY('2026-01-01') + INTERVAL 1 DAY)",
            "2026-02-01",
        ),
    ],
)
def test_an_update_sets_the_default(client_of, database, type_, other):
    client = client_of(database, type_)
    default = client.post("/things", json={}).json["value"]
    client.patch("/things/1", json={"value": other})

    record = client.put("/things/1", json={"note": "b"})

    assert record.json == {"id": 1, "note": "b", "value": default}


def test_an_update_sets_the_time_that_the_database_keeps(client_of):
    default = "CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"
    client = client_of("mariadb", f"TIMESTAMP NOT NULL DEFAULT {default}")
    client.post("/things", json={"value": "2001-01-01T00:00:00Z"})

    record = client.put("/things/1", json={"note": "b"})

    assert record.status_code == 200
    assert record.json["value"] > "2026"


def test_a_zero_date_comes_as_its_text(client_of):
    insert = f"INSERT INTO {TABLE} (value) VALUES ('0000-00-00')"
    client = client_of("mariadb", "DATE", "SET sql_mode = ''", insert)

    assert client.get("/things/1").json["value"] == "0000-00-00"
    assert client.patch("/things/1", json={"note": "b"}).json["value"] == "0000-00-00"
