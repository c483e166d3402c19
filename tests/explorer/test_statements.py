from __future__ import annotations

import json
import threading
from contextvars import copy_context

import pytest
import sqlalchemy as sa

from flask_records import Params
from flask_records.explorer.journal.journal import Journal
from flask_records.explorer.journal.journal import MAX_CALLS
from flask_records.explorer.journal.plans import explain
from flask_records.explorer.journal.recorded import Call
from flask_records.explorer.journal.recorded import MAX_PARTS
from flask_records.explorer.journal.recorded import MAX_QUESTIONS
from flask_records.explorer.journal.recorded import MAX_STATEMENTS
from flask_records.explorer.journal.recorded import Question
from flask_records.explorer.journal.recorder import journal_of
from flask_records.explorer.journal.shown_sql import MAX_LENGTH
from flask_records.explorer.journal.shown_sql import without_values

from ..models import Message
from .journals import fill

SECRET = "S3cretValue77"


def test_statements_are_in_order_with_their_hooks(journal, messages, db):
    def count(method, context):
        db.session.execute(sa.text("SELECT count(*) FROM room"))

    messages.before("find")(count)

    first, *others = journal.call_of("GET", "messages")["statements"]

    assert first["sql"] == "SELECT count(*) FROM room"
    assert first["milliseconds"] > 0
    assert (first["phase"], first["name"].rpartition(".")[2]) == ("before", "count")
    assert first["origin"].startswith(f"{__name__}:test_statements")
    assert {(each["phase"], each["origin"]) for each in others} == {("method", None)}


def test_statements_outside_of_calls_are_not_recorded(journal, db):
    @journal.app.get("/plain")
    def plain():
        db.session.execute(sa.text("SELECT count(*) FROM room"))
        return "done"

    assert journal.send("GET", "plain").text == "done"
    assert journal.calls() == []


def test_statements_that_write_many_rows(journal, messages, db):
    """Some take a list of parameters, others one with the values of all rows."""
    rows = [{"text": f"text {number}"} for number in range(3)]

    @messages.before("create")
    def insert(method, context):
        db.session.execute(sa.insert(Message).returning(Message.id), rows)
        db.session.execute(sa.insert(Message), rows)

    call = journal.call_of("POST", "messages", json=rows)

    assert call["status"] == 201
    assert sum("INSERT" in each["sql"] for each in call["statements"]) >= 3


def test_statement_that_fails_has_no_time(journal, messages, db):
    @messages.before("find")
    def fail(method, context):
        db.session.execute(sa.text("SELECT nothing FROM nowhere"))

    call = journal.call_of("GET", "messages")

    assert call["status"] == 500
    assert call["statements"][0]["milliseconds"] is None
    assert "refused" in call["statements"][0]["plan"]["problem"]


def test_nothing_shows_values(journal, messages, rooms, db):
    """Names, texts, numbers and errors of a call stay in the process."""
    number = 778899

    @messages.before()
    def look(method, context):
        condition = f"name = '{SECRET}' AND id < {number}"
        db.session.execute(sa.text(f"SELECT id FROM room WHERE {condition}"))
        rooms.find(Params(query={"name": SECRET}))

    headers = {"Authorization": f"Bearer {SECRET}", "X-Key": SECRET}
    body = {"text": SECRET, "rank": number}
    journal.send("POST", f"messages?secret={SECRET}", json=body, headers=headers)
    journal.send("POST", "messages", json=body, headers={"X-Key": SECRET})
    journal.send("GET", f"messages?text={SECRET}&rank[$gt]={number}")
    journal.send("PATCH", f"messages/{number}", json=body)
    journal.send("GET", f"messages/{SECRET}")
    # A form, since nothing says that it is JSON.
    journal.send("POST", "messages", data=json.dumps(body), headers={})

    shown = [journal.call(each["id"]) for each in journal.calls()]

    assert len(shown) >= 5
    assert SECRET not in json.dumps([shown, journal.calls()])
    assert str(number) not in json.dumps(shown)


def test_name_that_may_be_a_body_is_not_shown(journal):
    options = {"headers": {"Content-Type": "application/x-www-form-urlencoded"}}
    call = journal.call_of("POST", "rooms", data='{"name": "x"}', **options)

    assert call["data"] == ["…"]


@pytest.mark.parametrize(
    ("database", "sql", "shown"),
    [
        ("sqlite", "SELECT a FROM t WHERE b = 'x''y'", "SELECT a FROM t WHERE b = ?"),
        ("sqlite", "SELECT 'a\\', b, 'c'", "SELECT ?, b, ?"),
        ("sqlite", "SELECT \"a'b\", 'c'", 'SELECT "a\'b", ?'),
        ("sqlite", "SELECT 1.5e3, t2.c3, :p1 /* x 'y */", "SELECT ?, t2.c3, :p1 "),
        ("sqlite", "SELECT 1 -- it's x", "SELECT ? "),
        ("sqlite", "SELECT 'not ended", "SELECT ?"),
        ("postgresql", "SELECT E'a\\' b', $1, %(p_1)s", "SELECT ?, $1, %(p_1)s"),
        ("postgresql", "SELECT $x$a 'b$x$, $$c$$", "SELECT ?, ?"),
        ("mysql", 'SELECT "a\\" b", `c"d`, \'e\\\' f\' # g', 'SELECT ?, `c"d`, ? '),
        ("sqlite", f"SELECT '{'x' * MAX_LENGTH}'", "SELECT ? …"),
    ],
)
def test_sql_is_shown_without_values(database, sql, shown):
    assert without_values(sql, database) == shown


def test_number_of_calls_is_bounded():
    journal = Journal()

    for _ in range(MAX_CALLS + 5):
        journal.add(new_call())

    assert len(journal.after(0)) == MAX_CALLS
    assert journal.last == MAX_CALLS + 5
    assert journal.get(5) is None
    assert journal.get(6) is not None


def test_threads_number_calls_without_gaps():
    journal = Journal(size=10_000)

    def add():
        for _ in range(500):
            journal.add(new_call())

    threads = [threading.Thread(target=add) for _ in range(8)]

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    assert [call.id for call in journal.after(0)] == list(range(4000, 0, -1))


def new_call():
    return Call(
        phase="call", name="a.find", path="a", method="find", provider=None, outer=None
    )


def test_number_of_parts_and_statements_is_bounded(journal, messages, rooms):
    number = MAX_STATEMENTS + 100

    @messages.before("find")
    def loop(method, context):
        for _ in range(number):
            rooms._find()

    call = journal.call_of("GET", "messages")

    assert call["statements"] and len(call["statements"]) == MAX_STATEMENTS
    assert call["statementsLeftOut"] == number + 1 - MAX_STATEMENTS
    assert call["partsLeftOut"] > number - MAX_PARTS


def test_large_parameters_are_not_kept(journal):
    call = journal.call_of("GET", f"messages?text={'x' * 2500}")

    problems = [each["plan"]["problem"] for each in call["statements"]]
    assert "The statement is too large, or one of too many." in problems


def test_statements_that_are_kept_for_plans_are_few(journal, messages, db):
    @messages.before("find")
    def look(method, context):
        for number in range(MAX_QUESTIONS + 10):
            db.session.execute(sa.text(f"SELECT {number} AS a{number}"))

    messages_call = journal.call_of("GET", "messages")
    [call] = journal_of(journal.app).after(0)
    questions = [each.question for each in call.statements if each.question]

    assert len(messages_call["statements"]) > MAX_QUESTIONS
    assert len(questions) == len(call.shown_sql) == MAX_QUESTIONS


def test_equal_statements_share_a_plan(journal, messages, rooms):
    @messages.before("find")
    def look(method, context):
        for number in range(3):
            rooms.find(Params(query={"id": number}))

    journal.call_of("GET", "messages")
    [call] = journal_of(journal.app).after(0)
    first, *others = [each for each in call.statements if "FROM room" in each.sql]

    assert first.question is not None
    assert [each.question for each in others] == [None, None]
    assert all(each.plan is first.plan for each in others)


def test_calls_at_once_have_their_own_statements(journal, messages, rooms):
    """Each waits in its hook until all have begun."""
    together = threading.Barrier(4, timeout=20)

    @messages.before("find")
    def meet(method, context):
        together.wait()
        rooms.find()
        together.wait()

    threads = [
        threading.Thread(target=journal.send, args=["GET", "messages"])
        for _ in range(4)
    ]

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    calls = [journal.call(each["id"]) for each in journal.calls()]
    numbers = [
        sum("FROM room" in s["sql"] for s in call["statements"]) for call in calls
    ]
    assert numbers == [1, 1, 1, 1]


def test_thread_that_outlives_its_call_is_not_recorded(journal, messages, rooms):
    """Its context is a copy of that of the call."""
    may_run = threading.Event()
    threads = []

    def look():
        may_run.wait(10)

        with journal.app.app_context():
            rooms.find()

    @messages.before("find")
    def start(method, context):
        threads.append(threading.Thread(target=copy_context().run, args=[look]))
        threads[0].start()

    call = journal.call_of("GET", "messages")
    may_run.set()
    threads[0].join()

    assert journal.call(call["id"])["statements"] == call["statements"]
    assert [each["provider"] for each in journal.calls()] == [None, "rest"]


def test_plans_are_of_the_database(journal, db):
    fill(db, journal.app)
    call = journal.call_of("GET", "messages?rank=7")
    lines = [line for each in call["statements"] for line in each["plan"]["lines"]]
    words = {
        "sqlite": "SCAN message",
        "postgresql": "Seq Scan on message",
        "mariadb": "table=message type=index key=PRIMARY",
    }

    with journal.app.app_context():
        word = words[db.engine.dialect.name]

    assert any(word in line for line in lines)
    assert not any("= 7" in line for line in lines)


def test_statement_is_planned_and_not_run(journal, db):
    journal.send("POST", "messages", json={"text": "a"})
    journal.call_of("PATCH", "messages/1", json={"text": "b"})
    journal.call_of("DELETE", "messages/1")
    journal.send("POST", "messages", json={"text": "c"})
    number = len(journal.calls())

    for each in journal.calls():
        journal.call(each["id"])

    found = journal.send("GET", "messages").json()["data"]
    assert [each["text"] for each in found] == ["c"]
    assert len(journal.calls()) == number + 1


def test_second_statement_is_never_run(journal, db):
    """A driver without parameters would run it."""
    fill(db, journal.app, 3)
    question = Question("SELECT 1; DELETE FROM message", ())

    with journal.app.app_context(), db.engine.connect() as connection:
        plan = explain(connection, question)
        count = sa.select(sa.func.count()).select_from(Message)

        assert connection.execute(count).scalar() == 3

    assert plan.problem == "Only statements that read or write rows have plans."
