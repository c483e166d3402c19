from __future__ import annotations

import threading
from contextvars import Context

import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.pool import NullPool
from sqlalchemy.pool import QueuePool

from flask_records import SQLAlchemyService
from flask_records import Transaction
from flask_records import Unavailable
from flask_records.adapter.turns import take_turn
from flask_records.adapter.turns import Turns
from flask_records.adapter.turns import turns_of

from .conftest import served
from .models import Message
from .waiting import wait_until

TIMEOUT = 5
"""The seconds to wait for a turn."""


def started(function, *args):
    thread = threading.Thread(target=function, args=args, daemon=True)
    thread.start()
    return thread


def test_turns_come_in_the_order_of_asking():
    turns = Turns(1)
    order = []

    def call(number):
        give_back = turns.take(TIMEOUT)
        order.append(number)
        give_back()

    give_back = turns.take(TIMEOUT)
    threads = []

    for number in range(10):
        threads.append(started(call, number))
        wait_until(lambda count=number + 1: turns.waiting == count)

    give_back()

    for thread in threads:
        thread.join(5)

    assert order == list(range(10))


def test_as_many_pass_at_once_as_there_are_connections():
    turns = Turns(2)
    passed = []
    inside, leave = threading.Semaphore(0), threading.Event()

    def call():
        give_back = turns.take(TIMEOUT)
        passed.append(1)
        inside.release()
        leave.wait(5)
        give_back()

    threads = [started(call) for _ in range(2)]
    assert all(inside.acquire(timeout=5) for _ in threads)

    with pytest.raises(Unavailable, match="The database is busy") as refused:
        turns.take(0.01)

    leave.set()
    [thread.join(5) for thread in threads]
    turns.take(TIMEOUT)()
    assert len(passed) == 2
    assert refused.value.headers == {"Retry-After": "1"}


def test_a_turn_within_a_turn_does_not_wait():
    turns = Turns(1)

    give_back = turns.take(TIMEOUT)
    turns.take(TIMEOUT)()
    give_back()

    turns.take(TIMEOUT)()


def test_a_pool_without_a_bound_lets_all_callers_pass(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'x.db'}", poolclass=NullPool)

    every = [take_turn(engine) for _ in range(100)]

    assert len(every) == 100


@pytest.fixture
def one_connection(db, records, tmp_path):
    """A service on a database with a single connection, and its engine."""
    service = records.add("messages", SQLAlchemyService(Message), public=True)
    options = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 5}
    url = f"sqlite:///{tmp_path / 'one.db'}"

    with served(db, records, url, SQLALCHEMY_ENGINE_OPTIONS=options) as app:
        with app.app_context():
            assert isinstance(db.engine.pool, QueuePool)
            service.create({"text": "first"})
            yield app, service, db.engine


def test_callers_get_connections_in_the_order_in_which_they_came(one_connection):
    """The pool itself gives a connection to whoever asks when it is returned."""
    app, service, engine = one_connection
    order = []

    @sa.event.listens_for(engine, "checkout")
    def note(*args):
        order.append(threading.current_thread())

    def call(number):
        with app.app_context():
            service.get(1) if number % 2 else service.create({"text": "more"})

    turns = turns_of(engine)
    give_back = turns.take(TIMEOUT)
    threads = []

    for number in range(8):
        threads.append(started(call, number))
        wait_until(lambda count=number + 1: turns.waiting == count)

    give_back()
    # This caller comes last, however soon it asks.
    call(99)
    [thread.join(5) for thread in threads]
    assert order == [*threads, threading.current_thread()]


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_gives_its_turn_back(one_connection, fails):
    app, service, engine = one_connection

    @service.after("create")
    def fail(method, context):
        if fails:
            raise Unavailable("no")

    for _ in range(3):
        with app.test_client() as client:
            status = client.post("/messages", json={"text": "x"}).status_code
            assert status == (503 if fails else 201)
            assert client.get("/messages").status_code == 200


def test_calls_in_a_transaction_share_its_turn(one_connection):
    app, service, engine = one_connection

    with Transaction():
        service.create({"text": "second"})
        assert len(service.find()) == 2

    assert len(service.find()) == 2


def total_of(app, service):
    """Count records by code that has no turn yet, and so needs one."""

    def count():
        with app.app_context():
            return len(service.find())

    return Context().run(count)


class Unclosable(orm.Session):
    def close(self):
        super().close()
        raise OSError("The connection is gone.")


def test_a_session_that_can_not_be_closed_gives_its_turn_back(one_connection, records):
    app, messages, engine = one_connection
    sessions = orm.sessionmaker(engine, class_=Unclosable)
    service = records.add(
        "others", SQLAlchemyService(Message, session=sessions), public=True
    )

    for _ in range(3):
        with pytest.raises(OSError):
            service.create({"text": "x"})

    assert total_of(app, messages) == 4


def test_a_participant_that_can_not_be_closed_keeps_none_open(one_connection):
    app, service, engine = one_connection

    class Broken:
        is_in_progress = False

        def savepoint(self):
            return self

        def prepare(self):
            pass

        def commit(self):
            pass

        def close(self):
            raise OSError("The connection is gone.")

    for _ in range(3):
        with pytest.raises(OSError), Transaction() as transaction:
            transaction.join("broken", Broken)
            service.create({"text": "x"})

    assert total_of(app, service) == 4
