"""One connection is enough for a call, its hooks and its session."""

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, sessionmaker

from flask_records import Params

from .services import IDLE, Note, served_by


@pytest.fixture
def connection(make_engine, url):
    """A connection in a transaction that is undone at the end, as of a test suite."""
    engine = make_engine(url)

    with engine.connect() as connection:
        transaction = connection.begin()

        # The driver would begin the transaction not before the first INSERT.
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")

        yield connection
        transaction.rollback()
        texts = connection.scalars(sa.select(Note.text).order_by(Note.id)).all()

    assert texts == ["note 1", "note 2", "note 3"]


@pytest.mark.parametrize("mode", ["create_savepoint", "rollback_only"])
def test_a_session_on_a_connection_reads_what_was_written_there(connection, mode):
    connection.execute(sa.insert(Note), {"id": 50, "text": "by hand"})

    with Session(connection, join_transaction_mode=mode) as session:
        served = served_by(connection.engine, session)
        session.add(Note(id=51, text="by the session"))
        session.commit()
        created = served["notes"].create({"text": "by a call"})
        found = served.client.get("/notes?id[$gt]=49&$limit=9").json
        one = served["notes"].get(created["id"])

        assert sorted(note["text"] for note in found["data"]) == [
            "by a call",
            "by hand",
            "by the session",
        ]
        assert found["total"] == 3
        assert one == created
        assert served.engine.pool.checkedout() == 1


@pytest.fixture(params=["one session", "a session a call"])
def narrow(request, make_engine, url):
    """Services over an engine that has only one connection."""
    engine = make_engine(url, pool_size=1, max_overflow=0, pool_timeout=0.2)

    with Session(engine) as session:
        source = sessionmaker(engine) if request.param == "a session a call" else None
        yield served_by(engine, session, source)


CALLS = [
    lambda served: served["notes"].find().total,
    lambda served: served["notes"].get(1),
    lambda served: served.find("notes", **{"$populate": ["book", "tags"]}),
    lambda served: served.find("books", **{"$populate": ["notes"]}),
    lambda served: served["notes"].create({"text": "new"}),
    lambda served: served["notes"].patch(3, {"text": "new"}),
    lambda served: served["notes"].patch(None, {"text": "new"}),
    lambda served: served["notes"].remove(3),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_whose_hooks_read_takes_one_connection(narrow, call):
    seen = []

    @narrow.records.before()
    @narrow.records.after()
    def look(method, context):
        if context.params.extra.get("is_nested"):
            return

        nested = Params(extra={"is_nested": True})
        seen.append(narrow["tags"].get(1, nested)["name"])
        nested = Params(extra={"is_nested": True})
        seen.append(narrow["tags"].find(nested).total)

    assert call(narrow)
    assert {*seen} == {"new", 1}
    assert narrow.in_use() == IDLE
