"""Measures how the cost of a call grows, in one process, without a server: microseconds
of CPU against rows, the size of a page, fields, operators, hooks, services and threads;
memory against requests; seconds of start-up against services.

Run it with ``python -m tests.benchmarks.growth``. It takes about three minutes. Name
tables to measure only these: ``python -m tests.benchmarks.growth hooks services``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import sqlalchemy as sa
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase

from flask_records import FlaskRecords, SQLAlchemyService

from .app import prepare_sqlite
from .calls import request

SECONDS = 0.3
REQUESTS = 100_000
ALL = {"default": 10, "max": 1000}


def application(folder, *, rows=1000, fields=5, services=1, hooks=0):
    """An application with services over one table of numbers."""

    class Base(DeclarativeBase):
        pass

    columns = {f"field{n}": sa.Column(sa.Integer, index=n == 0) for n in range(fields)}
    model = type(
        "Row",
        (Base,),
        {
            "__tablename__": "row",
            "id": sa.Column(sa.Integer, primary_key=True),
            **columns,
        },
    )
    app = Flask("growth")
    path = Path(folder, f"{rows}-{fields}.db")
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{path}"
    is_new = not path.exists()
    db = SQLAlchemy(app, model_class=Base)
    records = FlaskRecords()

    for number in range(services):
        service = records.add(
            f"rows{number}", SQLAlchemyService(model, paginate=ALL), public=True
        )

        for _ in range(hooks):
            service.before()(lambda method, context: None)

    records.init_app(app)

    with app.app_context():
        sa.event.listen(db.engine, "connect", prepare_sqlite)
        Base.metadata.create_all(db.engine)

        if is_new:
            fill(db.engine, model, rows, columns)

    return app


def fill(engine, model, rows, columns):
    with engine.begin() as connection:
        for start in range(0, rows, 10_000):
            batch = range(start, min(start + 10_000, rows))
            connection.execute(
                sa.insert(model), [dict.fromkeys(columns, number) for number in batch]
            )

        connection.exec_driver_sql("ANALYZE")


def cost(app, query="", path="/rows0"):
    """Microseconds of CPU for one request."""
    status, body = request(app, "GET", path, query, None)
    assert status.startswith("200"), body
    run(app, path, query, SECONDS / 3)
    return run(app, path, query, SECONDS)


def run(app, path, query, seconds):
    number, start = 0, time.process_time()

    while time.process_time() - start < seconds:
        request(app, "GET", path, query, None)
        number += 1

    return (time.process_time() - start) / number * 1e6


def table(title, names, lines):
    print(f"\n{title}\n{'':>10}" + "".join(f"{name:>14}" for name in names))

    for first, *values in lines:
        print(f"{first:>10,}" + "".join(f"{value:14,.0f}" for value in values))

    sys.stdout.flush()


PAGE = "%24sort%5Bfield0%5D=-1&%24limit="


def by_rows(folder):
    lines = []

    for rows in (1_000, 10_000, 100_000, 1_000_000):
        app = application(folder, rows=rows)
        one, page = cost(app, path="/rows0/7"), cost(app, f"{PAGE}10")
        few = cost(app, f"{PAGE}10&field0%5B%24gt%5D={rows - 500}")
        lines.append((rows, one, page, few))

    table("Rows", ("get", "page of 10", "500 match"), lines)


def by_page(folder):
    app = application(folder, rows=10_000)
    sizes = (10, 30, 100, 300, 1000)
    lines = [(size, cost(app, f"{PAGE}{size}")) for size in sizes]
    table("Records in a page", ("page",), lines)


def by_fields(folder):
    lines = [
        (number, cost(application(folder, fields=number), f"{PAGE}100"))
        for number in (5, 10, 20, 50)
    ]
    table("Fields of a record", ("page of 100",), lines)


def by_operators(folder):
    app = application(folder, fields=20)
    lines = []

    for number in (1, 2, 5, 10, 20):
        terms = "&".join(f"field{n}%5B%24gte%5D=5" for n in range(number))
        choices = "&".join(
            f"%24or%5B{n}%5D%5Bfield{n}%5D%5B%24lt%5D=5" for n in range(number)
        )
        lines.append(
            (
                number,
                cost(app, f"{terms}&%24limit=1"),
                cost(app, f"{choices}&%24limit=1"),
            )
        )

    table("Operators of a query", ("all of", "any of"), lines)


def by_hooks(folder):
    lines = [
        (number, cost(application(folder, hooks=number), path="/rows0/7"))
        for number in (0, 1, 5, 10, 20)
    ]
    table("Hooks before a call", ("get",), lines)


def by_services(folder):
    lines = []

    for number in (1, 10, 100, 500):
        start = time.perf_counter()
        app = application(folder, services=number)
        seconds = time.perf_counter() - start
        last = f"/rows{number - 1}/7"
        lines.append((number, cost(app, path=last), seconds * 1000))

    table("Services", ("get", "start-up, ms"), lines)


def by_threads(folder):
    app = application(folder, rows=10_000)
    lines = []

    for number in (1, 2, 4, 8, 16):
        lines.append(
            (number, *(both(app, number, size) for size in (f"{PAGE}1", f"{PAGE}100")))
        )

    table("Threads", ("page of 1", "page of 100"), lines)


def both(app, number, query):
    """Microseconds of the clock for one request of any thread."""
    done = []

    def work():
        end, count = time.perf_counter() + 3 * SECONDS, 0

        while time.perf_counter() < end:
            request(app, "GET", "/rows0", query, None)
            count += 1

        done.append(count)

    threads = [threading.Thread(target=work) for _ in range(number)]
    start = time.perf_counter()

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    return (time.perf_counter() - start) / sum(done) * 1e6


def by_requests(folder):
    """Memory, with queries of ever new values and of more shapes than are kept."""
    app = application(folder, fields=20)
    lines = [(0, memory())]

    for number in range(1, REQUESTS + 1):
        shape = "&".join(f"field{n}={number}" for n in range(20) if number >> n & 1)
        request(app, "GET", "/rows0", f"{shape}&%24limit=1", None)

        if number in (100, 1_000, 10_000, REQUESTS // 2, REQUESTS):
            lines.append((number, memory()))

    table("Requests", ("memory, MiB",), lines)


def memory():
    """MiB that this process holds."""
    text = Path("/proc/self/statm").read_text(encoding="ascii")
    return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


TABLES = {
    "rows": by_rows,
    "page": by_page,
    "fields": by_fields,
    "operators": by_operators,
    "hooks": by_hooks,
    "services": by_services,
    "threads": by_threads,
    "requests": by_requests,
}


def main():
    names = sys.argv[1:]

    if len(names) == 1:
        with tempfile.TemporaryDirectory() as folder:
            TABLES[names[0]](folder)

        return

    # Each in a process of its own, so that none sees the memory of another.
    for name in names or TABLES:
        subprocess.run(
            [sys.executable, "-W", "ignore", "-m", __spec__.name, name], check=True
        )


if __name__ == "__main__":
    main()
