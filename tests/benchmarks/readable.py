"""Times the decision of who of 1,000 users may see the records of events.

Run ``python -m tests.benchmarks.readable``. Each user has one connection and may see
records of their own. Printed is the time for each user and event.
"""

import time

from flask_records import AuthenticationService
from flask_records import FlaskRecords
from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records.realtime.audience import Audience
from flask_records.realtime.audience import AUTHENTICATED
from flask_records.realtime.connection import Connection

from ..models import Message
from ..models import User

USERS = 1000
COUNTS = (1, 10, 100)
"""How many records one transaction writes."""

ROUNDS = 5

RULES = {
    "one value": lambda user: {"user_id": user["id"]},
    "two choices": lambda user: {"$or": [{"user_id": user["id"]}, {"read": True}]},
    "50 values": lambda user: {"user_id": {"$in": [user["id"], *range(2000, 2049)]}},
}


def audience_of(rule):
    """Whom events of messages may reach."""
    records = FlaskRecords()
    records.add("authentication", AuthenticationService())
    records.add("users", SQLAlchemyService(User, hidden=["password"]))
    records.add("messages", SQLAlchemyService(Message), readable=rule)
    service = records.authentication()
    connections = {}

    for id in range(USERS):
        payload = {"exp": time.time() + 1000, "jti": str(id)}
        login = Params(
            authentication={"strategy": "jwt", "payload": payload},
            authenticated=True,
            authenticator=service,
            user={"id": id},
            user_id=id,
        )
        connections[id] = Connection(str(id), {}, 50, {AUTHENTICATED}, login=login)

    return Audience(records, connections)


def message(id):
    record = {"id": id, "text": "Hi", "rank": None, "read": False, "user_id": id}
    return {
        "service": "messages",
        "event": "created",
        "record": record,
        "channels": [AUTHENTICATED],
    }


def measure(audience, count):
    """The seconds that the fastest round took for each user and event."""
    messages = [message(id) for id in range(count)]
    times = []

    for _ in range(ROUNDS):
        start = time.perf_counter()
        found = audience.deliveries(messages)
        times.append(time.perf_counter() - start)
        assert [len(connections) for connections in found] == [1] * count

    return min(times) / USERS / count


def main():
    print(f"{'rule':14}{'events':>8}{'µs each':>10}")

    for name, rule in RULES.items():
        audience = audience_of(rule)

        for count in COUNTS:
            print(f"{name:14}{count:8,}{measure(audience, count) * 1e6:10.2f}")


if __name__ == "__main__":
    main()
