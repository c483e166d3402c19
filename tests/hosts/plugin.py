"""A plugin of pytest for the tests of a host: serves its mapped classes in each of its
applications if ``SERVED`` is set, and writes down what passes.
"""

import json
import os
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name

import pytest
from flask import Flask

SERVED = json.loads(os.environ.get("SERVED", "null"))
"""The names of the factory, of the base of the models, and of the session."""

report = {"passed": [], "failed": [], "refused": {}, "statuses": {}}
apps = []


def serve(app):
    """Add a service for each mapped class that can be served."""
    from flask_records import FlaskRecords, SQLAlchemyService

    records, session = FlaskRecords(url_prefix="/records"), SERVED["session"]
    records.init_app(app)
    options = {"session": resolve_name(session)} if session else {}

    for mapper in resolve_name(SERVED["base"]).registry.mappers:
        class_ = mapper.class_
        name = class_.__name__

        try:
            records.add(name, SQLAlchemyService(class_, **options), public=True)
        except ValueError as error:
            report["refused"][name] = str(error)
            # A key of several columns may stand beside a column of this name.
            service = SQLAlchemyService(class_, id="_id", **options)
            records.add(name, service, public=True)

    apps.append(app)


def pytest_configure():
    """Serve the classes in the applications that the factory makes or gets."""
    if SERVED is None:
        return

    module, name = SERVED["factory"].split(":")
    factory = resolve_name(SERVED["factory"])

    @wraps(factory)
    def make(*args, **options):
        made = factory(*args, **options)
        serve(made if isinstance(made, Flask) else args[0])
        return made

    setattr(resolve_name(module), name, make)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call():
    """Ask all services once, in the first application, while its tables are there."""
    yield

    if apps and not report["statuses"]:
        client = apps[-1].test_client()

        for path in apps[-1].extensions["records"].services:
            answer = client.get(f"/records/{path}?$limit=2")
            report["statuses"][path] = answer.status_code


def pytest_runtest_logreport(report):
    if report.when == "call" or report.failed:
        globals()["report"]["passed" if report.passed else "failed"].append(
            report.nodeid
        )


def pytest_sessionfinish():
    Path(os.environ["REPORT"]).write_text(json.dumps(report))
