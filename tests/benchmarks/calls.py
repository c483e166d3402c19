"""Measures calls in one process, without a server: microseconds of CPU for each, and as
a ratio to the same answer written by hand with Flask and SQLAlchemy Core.

Run it with ``python -m tests.benchmarks.calls``. It takes about a minute. With
``DATABASE_URL`` it measures on that database, whose tables it makes and drops.
"""

import argparse
import datetime as dt
import io
import json
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa

from . import floor

ROWS = 100_000
START = dt.datetime(2024, 1, 1)
STEP = dt.timedelta(seconds=300)
MIDDLE = "2024-06-22 10:00:00"
NEWEST = "2024-12-12 20:00:00"
ROUNDS = 7
SECONDS = 0.15
"""How long each operation is measured in each round."""

BODY = {
    "text": "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima",
    "read": False,
    "room_id": 7,
    "user_id": 3,
    "created_at": "2024-03-01T12:00:00.123456",
    "archived": False,
}
SORT = "%24sort%5Bcreated_at%5D=-1"
FILTER = f"read=false&created_at%5B%24gt%5D={MIDDLE.replace(' ', '%20')}"
GROUP = "%24group=room_id&%24count=id"
EITHER = f"%24or%5B1%5D%5Bcreated_at%5D%5B%24gt%5D={NEWEST.replace(' ', '%20')}"


def operations(chance):
    """The requests by name: functions that return verb, path, query and body."""

    def some():
        return chance.randrange(1, ROWS)

    def room():
        return chance.randrange(1, 1000)

    def at(number):
        return (START + STEP * number).isoformat().replace(":", "%3A")

    return {
        "get": lambda: ("GET", f"/messages/{some()}", "", None),
        "missing": lambda: ("GET", f"/messages/{some() + 9_000_000}", "", None),
        "get with token": lambda: ("GET", f"/secured/{some()}", "", None),
        "find 10": lambda: ("GET", "/messages", f"{SORT}&%24limit=10", None),
        "filter 10": lambda: (
            "GET",
            "/messages",
            f"room_id={room()}&{FILTER}&{SORT}&%24limit=10",
            None,
        ),
        "$or": lambda: (
            "GET",
            "/messages",
            f"%24or%5B0%5D%5Broom_id%5D={room()}&{EITHER}&{SORT}&%24limit=10",
            None,
        ),
        "skip 50000": lambda: (
            "GET",
            "/messages",
            f"{SORT}&%24limit=10&%24skip=50000",
            None,
        ),
        "find 100": lambda: ("GET", "/messages", f"{SORT}&%24limit=100", None),
        "find 1000": lambda: ("GET", "/messages", f"{SORT}&%24limit=1000", None),
        "related": lambda: (
            "GET",
            "/messages",
            f"room.name=room%20{room()}&{SORT}&%24limit=10",
            None,
        ),
        "related many": lambda: (
            "GET",
            "/rooms",
            f"messages.created_at%5B%24gt%5D={at(ROWS - 100)}&%24limit=10",
            None,
        ),
        "populate 2": lambda: (
            "GET",
            "/messages",
            f"{SORT}&%24limit=50&%24populate=room.owner",
            None,
        ),
        "group": lambda: (
            "GET",
            "/messages",
            f"room_id%5B%24lt%5D={20 + room() % 9}&{GROUP}&%24limit=10",
            None,
        ),
        "create": lambda: ("POST", "/messages", "", BODY),
        "create 100": lambda: ("POST", "/messages", "", [BODY] * 100),
        "patch": lambda: ("PATCH", f"/messages/{some()}", "", {"text": BODY["text"]}),
    }


def fill(url):
    """Make the tables and their rows."""
    from .app import Base, Message, Room, User

    engine = sa.create_engine(url)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    chance = random.Random(1)
    rows = [
        {
            **BODY,
            "read": bool(chance.getrandbits(1)),
            "room_id": chance.randrange(1, 1000),
            "created_at": START + STEP * number,
        }
        for number in range(ROWS)
    ]

    with engine.begin() as connection:
        people = [{"email": f"{n}@example.com", "password": "none"} for n in range(50)]
        connection.execute(sa.insert(User), people)
        named = [{"name": f"room {n}", "owner_id": 1 + n % 50} for n in range(1, 1000)]
        connection.execute(sa.insert(Room), named)
        connection.execute(sa.insert(Message), rows)
        table = Message.__table__
        sa.Index("ix_room", table.c.room_id).create(connection)
        sa.Index("ix_created", table.c.created_at).create(connection)

    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")

    engine.dispose()


def request(app, verb, path, query, body, token=None):
    """The status and the body of an answer."""
    data = b"" if body is None else json.dumps(body).encode()
    environ = {
        "REQUEST_METHOD": verb,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "127.0.0.1",
        "HTTP_ACCEPT": "application/json",
        "REMOTE_ADDR": "127.0.0.1",
        "SCRIPT_NAME": "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(data),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": False,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }

    if body is not None:
        environ["CONTENT_TYPE"] = "application/json"
        environ["CONTENT_LENGTH"] = str(len(data))

    if path.startswith("/secured"):
        environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"

    seen = []
    answer = app(environ, lambda status, headers, exc_info=None: seen.append(status))

    try:
        return seen[0], b"".join(answer)
    finally:
        if hasattr(answer, "close"):
            answer.close()


def measure(app, make, token):
    """Microseconds of CPU for one request."""
    status, body = request(app, *make(), token)
    assert status[:3] in ("200", "201", "404"), (status, body)
    number, start = 0, time.process_time()

    while time.process_time() - start < SECONDS or number < 3:
        request(app, *make(), token)
        number += 1

    return (time.process_time() - start) / number * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="operations, separated by commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        url = os.environ.pop("DATABASE_URL", f"sqlite:///{Path(folder, 'calls.db')}")
        run(url, [name for name in arguments.only.split(",") if name], arguments.rounds)


def run(url, only, rounds):
    from . import app as ours

    fill(url)
    app = ours.create_app(url)

    with app.app_context():
        token = ours.authentication.target.create_token({"id": 1})[0]

    apps = {"ours": app, "floor": floor.create_app(url)}
    chosen = {
        name: make
        for name, make in operations(random.Random(2)).items()
        if not only or name in only
    }
    print(f"{'':16}{'ours, µs':>10}{'floor, µs':>11}{'ratio':>8}")

    for name, make in chosen.items():
        found = {each: [] for each in apps}

        for _ in range(rounds):
            for each, one in apps.items():
                found[each].append(measure(one, make, token))

        least = {each: min(values) for each, values in found.items()}
        ratio = statistics.median(
            a / b for a, b in zip(found["ours"], found["floor"], strict=True)
        )
        print(
            f"{name:16}{least['ours']:10.0f}{least['floor']:11.0f}{ratio:8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
