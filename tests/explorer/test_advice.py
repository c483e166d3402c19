from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa

from flask_records import FlaskRecords
from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records.explorer.journal.advice import SLOW
from flask_records.explorer.journal.advice import warnings_of
from flask_records.explorer.journal.recorded import Call
from flask_records.explorer.journal.recorded import Part

from ..models import Message
from ..models import Room
from .journals import fill
from .journals import recorded

HERE = __name__


def texts(call, kind):
    """The warnings of a kind."""
    return [each["text"] for each in call["warnings"] if each["kind"] == kind]


def test_statement_that_a_hook_repeats(journal, messages, rooms):
    fill_few(journal)

    @messages.after("find")
    def add_rooms(method, context):
        for message in context.result.data:
            message["rooms"] = rooms.find(Params(query={"name": message["text"]}))

    call = journal.call_of("GET", "messages")
    [warning] = [each for each in call["warnings"] if each["kind"] == "repeated"]

    assert "add_rooms runs the same statement 4 times (line " in warning["text"]
    assert warning["text"].startswith(HERE)
    assert '{"id": {"$in": ids}}' in warning["text"]
    assert len({call["statements"][n]["sql"] for n in warning["statements"]}) == 1
    assert journal.calls()[0]["warnings"] == len(call["warnings"])


def test_write_that_a_hook_repeats(journal, messages, rooms):
    @messages.before("find")
    def create(method, context):
        for number in range(3):
            rooms.create({"name": f"room {number}"})

    [text] = texts(journal.call_of("GET", "messages"), "repeated")

    assert "create takes a list" in text


def test_statement_that_a_computed_field_repeats(db, database_url):
    records = FlaskRecords()
    rooms = records.add("rooms", SQLAlchemyService(Room), public=True)

    def doubled(messages) -> list[int]:
        return [len(rooms.find()) for _ in messages]

    computed = {"doubled": doubled}
    service = SQLAlchemyService(Message, computed=computed)
    records.add("messages", service, public=True)

    with recorded(db, records, database_url) as site:
        fill_few(site)
        call = site.call_of("GET", "messages")

    [text] = texts(call, "repeated")
    assert "doubled" in text
    assert "4 times" in text


def test_statements_of_an_asynchronous_hook(journal, messages, rooms):
    @messages.before("find")
    async def look(method, context):
        for _ in range(3):
            rooms.find()

    [text] = texts(journal.call_of("GET", "messages"), "repeated")

    assert "look runs the same statement 3 times" in text


def test_statement_that_a_view_repeats_is_not_a_warning(journal, rooms):
    """Each of its calls is one of its own."""

    @journal.app.get("/view")
    def view():
        for _ in range(4):
            rooms.find()

        return "done"

    journal.send("GET", "view")

    assert [each["warnings"] for each in journal.calls()] == [0, 0, 0, 0]


def test_calls_of_one_function_are_counted_together(journal, messages, rooms):
    @messages.before("find")
    def twice(method, context):
        rooms.find()
        rooms.find()

    assert texts(journal.call_of("GET", "messages"), "repeated") == []


@pytest.mark.parametrize(
    ("query", "advice"),
    [
        ("room_id=5", "message.room_id"),
        ("rank=5&room_id[$gt]=3", "rank, room_id of message"),
        ("$or[0][rank]=5&$or[1][room_id]=3", "message.rank and one on message.room_id"),
        ("$sort[rank]=-1", "an index on message in this order: "),
        ("text[$search]=text%207", "an index for text"),
        ("$sort[id]=-1", None),
        ("id=5", None),
        ("", None),
        ("$limit=0", None),
    ],
)
def test_missing_index(big_site, query, advice):
    call = big_site.call_of("GET", f"messages?{query}")
    found = texts(call, "index")

    if advice is None:
        assert found == []
    else:
        # MariaDB has an index for each foreign key.
        is_indexed = "room_id" in query and "mariadb" in big_site.database
        assert is_indexed or any(advice in text for text in found)


def test_index_that_is_there_is_not_missing(big_site, db):
    with big_site.app.app_context():
        db.session.execute(sa.text("CREATE INDEX ix_rank ON message (rank)"))
        db.session.commit()

    assert texts(big_site.call_of("GET", "messages?rank=5"), "index") == []


def test_small_table_needs_no_index(journal):
    fill_few(journal)

    assert texts(journal.call_of("GET", "messages?rank=5"), "index") == []


def test_advice_is_in_the_list_once_it_is_known(big_site):
    big_site.send("GET", "messages?user_id=5")
    before = big_site.calls()[0]["warnings"]
    number = len(big_site.call()["warnings"])

    assert before == 0
    assert big_site.calls()[0]["warnings"] == number


def test_slow_functions(journal):
    call = new_call()

    for phase, name, milliseconds in (
        ("before", "app:slow", SLOW + 30),
        ("before", "app:fast", SLOW - 1),
        ("readable", "app:rule", SLOW + 1),
        ("before", "flask_records.authentication.hooks:hash", SLOW + 90),
        ("method", "flask_records.adapter.service:find", SLOW + 90),
    ):
        call.add(Part(phase=phase, name=name, outer=call, milliseconds=milliseconds))

    assert [each.text for each in warnings_of(call)] == [
        "The before hook app:slow takes 80 ms. Let a job do what the answer does not"
        " need.",
        "The rule 'readable' app:rule takes 51 ms. Each call of a client waits for it:"
        " return a query, or FromUser.",
    ]


def test_slow_hook_is_a_warning_of_its_call(journal, messages):
    waiting = threading.Event()

    @messages.before("find")
    def wait(method, context):
        waiting.wait((SLOW + 10) / 1000)

    [text] = texts(journal.call_of("GET", "messages"), "slow")

    assert text.startswith(f"The before hook {HERE}:")


def new_call():
    return Call(
        phase="call", name="a.find", path="a", method="find", provider=None, outer=None
    )


def fill_few(site):
    with site.app.app_context():
        messages = site.app.extensions["records"]["messages"]

        for number in range(4):
            messages._create({"text": f"text {number}", "rank": number})


@pytest.fixture
def big_site(journal, db, database_url):
    """A site with many messages."""
    fill(db, journal.app)
    journal.database = database_url
    return journal
