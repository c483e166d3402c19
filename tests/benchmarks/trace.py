"""Traces one find, get, create and patch through the modules of Flask-Records.

Run it with ``python -m tests.benchmarks.trace``, and with ``--path`` to see each hop.
It takes some seconds. The application is a plain one: one public service with pages,
in SQLite, without hooks, events, logins or real time.

A **module** is visited if one of its Python functions runs. A **hop** is a call of a
function whose nearest caller in Flask-Records, directly or through a library, is a
function of another module; a return is none. **Calls** are those of Python functions,
generators that go on included, and functions written in C left out. Each request has
been made before, so that what is kept for it is there.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from flask import Flask
from flask_sqlalchemy import SQLAlchemy

import flask_records
from flask_records import FlaskRecords, SQLAlchemyService

from . import app as measured
from . import calls

FOLDER = f"{Path(flask_records.__file__).parent}/"
OPERATIONS = ("find 10", "get", "create", "patch")


@dataclass
class Trace:
    """The way of one request through the modules."""

    hops: list[tuple[str, str]] = field(default_factory=list)
    """The modules that control passed from and to, in order."""

    calls: Counter[str | None] = field(default_factory=Counter)
    """How many functions of each module ran, those of libraries by ``None``."""

    _callers: list[str] = field(default_factory=list)

    def __call__(self, frame, event, argument):
        """Take an event of :func:`sys.setprofile`."""
        module = module_of(frame.f_code.co_filename)

        if event == "call":
            self.calls[module] += 1

            if module is not None:
                self._enter(module)
        elif event == "return" and module is not None:
            self._callers.pop()

    @property
    def modules(self):
        return [module for module in self.calls if module is not None]

    def _enter(self, module):
        if self._callers and self._callers[-1] != module:
            self.hops.append((self._callers[-1], module))

        self._callers.append(module)


def module_of(file):
    """The name of a module of Flask-Records, or ``None`` for one of a library."""
    if not file.startswith(FOLDER):
        return None

    return file.removeprefix(FOLDER).removesuffix(".py").replace("/", ".")


def create_app(url):
    """Return a plain application over a database."""
    db = SQLAlchemy(model_class=measured.Base)
    records = FlaskRecords()
    service = SQLAlchemyService(measured.Message, paginate=measured.PAGES)
    records.add("messages", service, public=True)
    app = Flask(__name__)
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    db.init_app(app)
    records.init_app(app)
    return app


def trace(app, make):
    """Return the trace of a request that has been made before.

    :param app: The application.
    :param make: Returns the verb, path, query and body of a request.
    """
    for _ in range(5):
        status, body = calls.request(app, *make())
        assert status[:3] in ("200", "201"), (status, body)

    arguments, traced = make(), Trace()
    sys.setprofile(traced)

    try:
        calls.request(app, *arguments)
    finally:
        sys.setprofile(None)

    return traced


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--path", action="store_true", help="show each hop")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder, 'trace.db')}"
        calls.fill(url)
        app = create_app(url)
        made = calls.operations(random.Random(2))
        print(f"{'':10}{'modules':>9}{'hops':>7}{'calls, ours':>13}{'libraries':>11}")

        for name in OPERATIONS:
            show(name, trace(app, made[name]), arguments.path)


def show(name, traced, has_path):
    ours = traced.calls.total() - traced.calls[None]
    numbers = f"{len(traced.modules):9}{len(traced.hops):7}{ours:13}"
    print(f"{name:10}{numbers}{traced.calls[None]:11}")

    if has_path:
        for caller, module in traced.hops:
            print(f"    {caller} -> {module}")


if __name__ == "__main__":
    main()
