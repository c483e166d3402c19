"""Times the decision of who of many users may see the records of events.

Run ``python -m tests.benchmarks.readable``. Each user has one connection. Printed are
the microseconds for each event, and the statements, of transactions with one record and
with many, in this process: nothing is sent.
"""

import time

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    FromUser,
    Params,
    SQLAlchemyService,
)
from flask_records.realtime.connections import Connection, Connections
from flask_records.realtime.messages import AUTHENTICATED
from flask_records.realtime.messages import Message as Event
from flask_records.realtime.recipients import Recipients

from ..models import Base, Message, User

USERS = (1000, 10_000)
COUNTS = (1, 100)
"""How many records one transaction writes."""

ROUNDS = 5


def own(user):
    return {"user_id": user["id"]}


def own_or_read(user):
    return {"$or": [{"user_id": user["id"]}, {"read": True}]}


RULES = {
    "no rule": None,
    "the same for all": lambda user: {"read": False},
    "own, function": own,
    "own, query": {"user_id": FromUser("id")},
    "own or read, function": own_or_read,
    "own or read, query": {"$or": [{"user_id": FromUser("id")}, {"read": True}]},
    "a team's, function": lambda user: {"user_id": {"$in": user["team"]}},
    "a team's, query": {"user_id": FromUser("team")},
    "of 20 searches": lambda user: {"text": {"$search": f"Hi {user['id'] % 20}"}},
}


def selection_of(rule, users):
    """A function that selects who gets events of messages."""
    records = FlaskRecords()
    records.add("authentication", AuthenticationService())
    users_only = SQLAlchemyService(User, hidden=["password"])
    records.add("users", users_only, methods=["find", "get"])
    service = SQLAlchemyService(Message, whitelist=["$search"])
    records.add("messages", service, readable=rule)
    app = Flask(__name__)
    app.config.update(SQLALCHEMY_DATABASE_URI="sqlite://", SECRET_KEY="x" * 32)
    db = SQLAlchemy(app, model_class=Base)
    records.init_app(app)
    context = app.app_context()
    context.push()
    db.create_all()
    connections = Connections()

    for id in range(users):
        payload = {"exp": time.time() + 1000, "jti": str(id)}
        login = Params(
            authentication={"strategy": "jwt", "payload": payload},
            authenticated=True,
            authenticator=records.authentication(),
            user={"id": id, "team": [id - id % 10 + other for other in range(10)]},
            user_id=id,
        )
        connection = Connection(str(id), {}, 50, connections)
        connection.set_login(login)
        connection.join(AUTHENTICATED)
        connections.add(connection)

    def select(events):
        service = records["messages"]
        return Recipients(records, service, events, connections).deliveries()

    return select, db, context


def event(id):
    record = {"id": id, "text": "Hi", "rank": None, "read": False, "user_id": id}
    return Event("messages", "created", record, [AUTHENTICATED])


def measure(select, db, count):
    """The seconds of the fastest round, the statements and the deliveries."""
    events = [event(id) for id in range(count)]
    times = []
    statements = []

    @sa.event.listens_for(db.engine, "before_cursor_execute")
    def remember(connection, cursor, statement, *rest):
        statements.append(statement)

    for _ in range(ROUNDS):
        statements.clear()
        start = time.process_time()
        found = select(events)
        times.append(time.process_time() - start)

    sa.event.remove(db.engine, "before_cursor_execute", remember)
    delivered = sum(len(group.connections) for groups in found for group in groups)
    return min(times), len(statements), delivered


def main():
    head = f"{'rule':24}{'users':>8}{'events':>8}{'µs an event':>13}"
    print(f"{head}{'statements':>12}{'deliveries':>12}")

    for name, rule in RULES.items():
        for users in USERS:
            select, db, context = selection_of(rule, users)

            for count in COUNTS:
                seconds, statements, delivered = measure(select, db, count)
                each = seconds * 1e6 / count
                row = f"{name:24}{users:8,}{count:8,}{each:13,.0f}"
                print(f"{row}{statements:12,}{delivered:12,}", flush=True)

            context.pop()


if __name__ == "__main__":
    main()
