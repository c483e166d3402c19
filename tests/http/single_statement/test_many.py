"""Many records that one statement creates come in the order of their bodies."""

import random

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import mapped_column, sessionmaker

from flask_records import BadRequest

from ...databases import serving_models
from ...models import model_of
from ...sql import statements_of
from .notes import note_of
from .twins import kinds, observed


@pytest.mark.parametrize(
    ("path", "size"), [("things", 1500), ("stamps", 150), ("words", 150)]
)
def test_many_records_come_in_the_order_of_their_bodies(twins, path, size):
    numbers = random.Random(size).sample(range(size), size)
    bodies = {
        "things": [{"code": f"c{n}"} for n in numbers],
        "stamps": [{"number": n} for n in numbers],
        "words": [{"name": f"n{n}"} for n in numbers],
    }[path]
    twins.fill(path)

    with statements_of(twins.engine) as statements:
        created = twins.single[path].create(bodies)

    assert [{name: c[name] for name in bodies[0]} for c in created] == bodies
    assert set(kinds(statements).split()) == {"INSERT"}
    # Identifiers that the database counts up tell the order of many rows.
    assert len(kinds(statements).split()) <= 2 or path != "things"


@pytest.mark.parametrize("make", [sessionmaker, observed])
def test_a_record_that_a_trigger_keeps_out_is_refused(make_notes, make):
    notes = make_notes(note_of(), make=make)

    with notes.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER ignoring BEFORE INSERT ON note BEGIN"
            " SELECT raise(IGNORE); END"
        )

    with pytest.raises(BadRequest, match="does not keep this identifier"):
        notes.service.create({"text": "a"})


def test_an_engine_without_statements_of_many_rows_creates_many(database_url):
    model = model_of(name=mapped_column(sa.String(20)))
    options = {"use_insertmanyvalues": False}
    bodies = [{"name": name} for name in "abc"]

    with serving_models(
        database_url, {"things": model}, SQLALCHEMY_ENGINE_OPTIONS=options
    ) as client:
        created = client.post("/things", json=bodies)

        assert created.status_code == 201
        assert [each["name"] for each in created.json] == ["a", "b", "c"]
