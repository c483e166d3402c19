"""Times logins at the default cost, and tells how much memory they take.

Run ``python -m tests.benchmarks.login``. Read the ratios: the machine matters. Who
measures the time should not learn which emails there are.
"""

import resource
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import sample
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_records import (
    AuthenticationService,
    FlaskRecords,
    hash_password,
    SQLAlchemyService,
)

from ..models import Base, User

TRIES = 50
AT_ONCE = 20
PASSWORD = "correct horse"
LOGINS = {
    "wrong password": ("ann@example.com", "wrong"),
    "unknown email": ("nobody@example.com", "wrong"),
    "no password": ("ben@example.com", "wrong"),
    "right password": ("ann@example.com", PASSWORD),
}


@contextmanager
def example(folder):
    """An app with one user who has a password, and one who has none."""
    records = FlaskRecords()
    users = records.add("users", SQLAlchemyService(User, hidden=["password"]))
    users.before("create")(hash_password())
    records.add("authentication", AuthenticationService())
    app = Flask("benchmark")
    app.config["RECORDS_AUTHENTICATION"] = {"secret": "s" * 32}
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{Path(folder) / 'login.db'}"
    db = SQLAlchemy(app, model_class=Base)
    records.init_app(app)

    with app.app_context():
        db.create_all()

    yield app, users

    with app.app_context():
        db.engine.dispose()


def log_in(app, name):
    """The milliseconds that a login takes, and those that the processor works."""
    email, password = LOGINS[name]
    login = {"strategy": "local", "email": email, "password": password}
    client = app.test_client()
    start, worked = perf_counter(), process_time()
    response = client.post("/authentication", json=login)
    times = (perf_counter() - start) * 1000, (process_time() - worked) * 1000
    assert response.status_code == (201 if name == "right password" else 401)
    return times


def peak():
    """The most mebibytes that the process has taken until now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def print_times(app):
    tries = {name: [] for name in LOGINS}

    for _ in range(TRIES):
        # In a fixed order each kind would always follow the same one.
        for name in sample(list(LOGINS), len(LOGINS)):
            tries[name].append(log_in(app, name))

    medians = {
        name: list(map(median, zip(*tries[name], strict=True))) for name in LOGINS
    }
    usual = medians["wrong password"]
    print(f"{'medians':16}{'ms':>8}{'worked':>8}  each to a wrong password")

    for name, found in medians.items():
        ratios = [one / other for one, other in zip(found, usual, strict=True)]
        print(
            f"{name:16}{found[0]:8.1f}{found[1]:8.1f}  {ratios[0]:.3f} {ratios[1]:.3f}"
        )


def print_memory(app):
    """The first check of the process is the one that is measured."""
    before = peak()
    log_in(app, "unknown email")
    one = peak() - before

    with ThreadPoolExecutor(AT_ONCE) as pool:
        start = perf_counter()
        list(pool.map(lambda _: log_in(app, "unknown email"), range(AT_ONCE)))
        seconds = perf_counter() - start

    print(f"One login takes {one:.1f} MiB.")
    print(f"{AT_ONCE} at once take {peak() - before:.1f} MiB and {seconds:.2f} s.")


def main():
    with TemporaryDirectory() as folder, example(folder) as (app, users):
        with app.app_context():
            users._create({"email": "ben@example.com"})

        print_memory(app)

        with app.app_context():
            users.create({"email": "ann@example.com", "password": PASSWORD})

        print_times(app)


if __name__ == "__main__":
    main()
