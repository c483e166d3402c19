"""A read takes a connection of its own, or that of a session with pending work."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session, with_loader_criteria

from flask_records import NotFound, Params

from ...sql import statements_of
from .services import Base, IDLE, Note, READS, served_by, tagging


@pytest.fixture
def served(make_engine, url):
    """Services over a session of each database."""
    engine = make_engine(url)

    with Session(engine) as session:
        yield served_by(engine, session)


FAILURES = [
    (lambda served: served["notes"].get(99), NotFound),
    (lambda served: served["gone"].find(), Exception),
]  # fmt: skip


@pytest.mark.parametrize("read", READS)
def test_a_read_leaves_an_idle_session_without_a_transaction(served, read):
    read(served)

    assert served.in_use() == IDLE


@pytest.mark.parametrize(("read", "error"), FAILURES)
def test_a_read_that_fails_leaves_an_idle_session_as_it_was(served, read, error):
    with pytest.raises(error):
        read(served)

    assert served.in_use() == IDLE
    assert served.texts() == ["note 1", "note 2", "note 3"]


@pytest.mark.parametrize("read", READS)
def test_a_read_leaves_the_transaction_of_a_session_open(served, read):
    served.session.add(Note(text="new"))

    read(served)

    assert served.in_use() == (1, True)
    served.session.rollback()
    assert served.texts() == ["note 1", "note 2", "note 3"]


def add(session):
    session.add(Note(text="new"))


def change(session):
    session.get(Note, 1).text = "new"


def change_after_a_commit(session):
    session.expire_on_commit = False
    note = session.get(Note, 1)
    session.commit()
    note.text = "new"


def remove(session):
    session.delete(session.get(Note, 1))


def execute(session):
    session.execute(sa.update(Note).where(Note.id == 1).values(text="new"))


PENDING = [
    (add, ["note 1", "note 2", "note 3", "new"]),
    (change, ["new", "note 2", "note 3"]),
    (change_after_a_commit, ["new", "note 2", "note 3"]),
    (remove, ["note 2", "note 3"]),
    (execute, ["new", "note 2", "note 3"]),
]


@pytest.mark.parametrize(("write", "texts"), PENDING)
def test_a_read_in_a_hook_sees_what_the_session_has_pending(served, write, texts):
    # A row that refers to the note would keep it from being removed.
    served.session.execute(sa.delete(tagging))
    served.session.commit()
    seen = []

    @served["tags"].before("find")
    def look(method, context):
        write(served.session)
        seen.append(sorted(served.texts()))
        seen.append(served["notes"].find().total)

    served["tags"].find()

    assert seen == [sorted(texts), len(texts)]


def test_a_read_sees_nothing_pending_of_a_session_without_autoflush(served):
    served.session.autoflush = False
    served.session.add(Note(text="new"))

    assert served.texts() == ["note 1", "note 2", "note 3"]
    assert served.session.new


def test_reads_in_hooks_see_what_the_outer_call_has_written(served):
    seen = []

    @served["notes"].after("create")
    def look(method, context):
        id = context.result["id"]
        seen.append(served["notes"].get(id)["text"])
        seen.append(served.texts(text="new"))
        seen.append(served["notes"].find().total)

    served["notes"].create({"text": "new"})

    assert seen == ["new", ["new"], 4]
    assert served.in_use() == IDLE


def test_a_read_is_run_where_the_session_has_its_model(make_engine, url):
    engine, other = make_engine(url), sa.create_engine("sqlite://")

    with Session(other, binds={Base: engine}) as session:
        texts = served_by(engine, session).texts()

    assert texts == ["note 1", "note 2", "note 3"]
    other.dispose()


@pytest.fixture
def without_two(served):
    """The same services, where a listener leaves out the second note."""

    @sa.event.listens_for(served.session, "do_orm_execute")
    def leave_out(state):
        if state.is_select:
            condition = with_loader_criteria(Note, Note.id != 2)
            state.statement = state.statement.options(condition)

    return served


def test_a_condition_of_a_listener_holds_for_find(without_two):
    page = without_two["notes"].find(Params(query={"$limit": 1}))

    assert (page.total, [note["text"] for note in page.data]) == (2, ["note 1"])
    assert without_two.texts() == ["note 1", "note 3"]
    assert without_two.in_use() == IDLE


def test_a_condition_of_a_listener_holds_for_populate(without_two):
    query = {"$populate": ["notes"]}

    (book,) = without_two.find("books", **query)

    assert [note["id"] for note in book["notes"]] == [1, 3]


@pytest.mark.parametrize("sort", [{}, {"book_id": -1}])
def test_a_condition_of_a_listener_holds_for_a_deep_page(without_two, sort):
    rows = [{"id": n, "text": "many", "book_id": 1} for n in range(101, 1201)]

    with without_two.engine.begin() as connection:
        connection.execute(sa.insert(Note), rows)

    query = {"$sort": sort, "$select": ["id"]}
    everything = without_two.find(**query, **{"$limit": 2000})
    found = without_two.find(**query, **{"$limit": 5, "$skip": 1000})

    assert len(everything) == 1102
    assert found == everything[1000:1005]


@pytest.mark.parametrize(
    ("read", "statements"),
    [
        (lambda served: served.find(), 2),
        (lambda served: served["notes"].find(), 3),
        (lambda served: served["notes"].get(1), 2),
    ],
)
def test_what_begins_a_transaction_of_the_session_comes_before_a_read(
    served, read, statements
):
    @sa.event.listens_for(served.session, "after_begin")
    def begin(session, transaction, connection):
        connection.exec_driver_sql("SELECT 'begun'")

    with statements_of(served.engine) as ran:
        read(served)

    assert [each == "SELECT 'begun'" for each in ran] == [
        True,
        *[False] * (statements - 1),
    ]
    assert served.in_use() == IDLE
