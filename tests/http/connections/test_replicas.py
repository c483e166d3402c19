"""A session that routes statements reads from a replica, and writes to the primary."""

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from ...sql import statements_of
from .services import Note, served_by

EXECUTED_FIRST = {
    "sqlite": "PRAGMA query_only = ON",
    "postgresql": "SET default_transaction_read_only = on",
    "mariadb": "SET SESSION TRANSACTION READ ONLY",
}
"""The statement after which a connection takes no writes, as of a replica."""


def session_with(primary, replica):
    """A session by SQLAlchemy's recipe."""

    class RoutingSession(Session):
        def get_bind(self, mapper=None, clause=None, **others):
            is_write = self._flushing or isinstance(clause, sa.sql.dml.UpdateBase)
            return primary if is_write else replica

    return RoutingSession()


@pytest.fixture
def primary(make_engine, url):
    return make_engine(url)


@pytest.fixture
def replica(primary):
    """An engine of the same database that takes no writes."""
    engine = sa.create_engine(primary.url)

    @sa.event.listens_for(engine, "connect")
    def refuse_writes(connection, record):
        cursor = connection.cursor()
        cursor.execute(EXECUTED_FIRST[engine.dialect.name])
        connection.commit()

    yield engine
    engine.dispose()


@pytest.fixture
def served(primary, replica):
    with session_with(primary, replica) as session:
        yield served_by(primary, session)


@pytest.fixture(params=["one statement", "unit of work"])
def notes(served, request):
    if request.param == "unit of work":
        sa.event.listen(served.session, "before_flush", lambda *args: None)

    return served["notes"]


def test_reads_go_to_the_replica(served, primary, replica):
    with statements_of(primary) as written, statements_of(replica) as read:
        assert served["notes"].get(1)["text"] == "note 1"
        assert served.find("notes", **{"$populate": ["book", "tags"]})
        served.session.scalars(sa.select(Note)).all()
        assert served["notes"].find().total == 3

    assert len(read) >= 6
    assert not [each for each in written if each.startswith("SELECT")]


def test_writes_go_to_the_primary(notes, replica):
    with statements_of(replica) as read:
        created = notes.create({"text": "new"})
        notes.create([{"text": "one"}, {"text": "two"}])
        notes.patch(created["id"], {"text": "newer"})
        notes.update(created["id"], {"text": "newest"})
        notes.patch(None, {"text": "all"})
        notes.remove(created["id"])
        notes.remove(None)

    assert read == []


def test_a_call_reads_what_it_has_written(served, notes):
    seen = []

    @notes.after("create")
    def look(method, context):
        seen.append(notes.get(context.result["id"])["text"])
        seen.append(served["tags"].find().total)

    notes.create({"text": "new"})

    assert seen == ["new", 1]


def test_a_server_that_takes_no_writes_says_so(make_engine, replica):
    with Session(replica) as session:
        served = served_by(replica, session)
        response = served.client.post("/notes", json={"text": "new"})

        assert response.status_code == 503
        assert response.json["message"] == "The database is not available. Try again."
        assert served["notes"].find().total == 3
