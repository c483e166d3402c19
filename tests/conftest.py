from __future__ import annotations

import gc
import json
import os
import re
import threading
from contextlib import contextmanager
from contextlib import ExitStack
from functools import cache
from html import escape
from urllib.parse import parse_qsl
from urllib.parse import quote_plus

import pytest
import sqlalchemy as sa
from flask import Flask
from flask import request
from flask import request_finished
from flask_sqlalchemy import SQLAlchemy
from werkzeug.routing import Rule
from werkzeug.serving import make_server
from werkzeug.serving import WSGIRequestHandler

from flask_records import AuthenticationService
from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from .models import Base
from .models import Message
from .models import Room
from .models import User
from .new_databases import new_database

SERVERS = {
    "postgresql": "TEST_POSTGRESQL_URL",
    "mariadb": "TEST_MARIADB_URL",
}
"""The databases that run as servers, and what tells their URL."""

MISSING = {server: name for server, name in SERVERS.items() if not os.environ.get(name)}
"""Those that the environment does not name."""

DATABASES = ["sqlite", *(server for server in SERVERS if server not in MISSING)]
"""The kinds of databases that tests of all databases run on. A summary names the
others, since thousands of skipped tests take long.
"""


def compiled_late(compile_builder):
    """The function that compiles how URLs are built from a rule, which does so when
    the first is built. Most tests build none, and this takes a third of the time in
    which an application is set up.
    """

    def compile_late(rule, append_unknown=True):
        @cache
        def builder():
            return compile_builder(rule, append_unknown)

        return lambda self, /, **values: builder()(self, **values)

    return compile_late


Rule._compile_builder = compiled_late(Rule._compile_builder)


@pytest.fixture(scope="session")
def server_urls():
    """The URL of a new, empty database on each server that the environment names."""
    with ExitStack() as databases:
        yield {
            server: databases.enter_context(new_database(os.environ[variable]))
            for server, variable in SERVERS.items()
            if server not in MISSING
        }


def url_of(database, server_urls, path=""):
    """The URL of an empty database of a kind. A test is skipped where the environment
    names no server of that kind.

    :param path: The file of SQLite's database. It is in memory by default.
    """
    if database in SERVERS and database not in server_urls:
        pytest.skip(f"{SERVERS[database]} is not set")

    return server_urls.get(database, f"sqlite:///{path}" if path else "sqlite://")


def url_in(variable):
    """The URL in a variable of the environment. A test is skipped without it."""
    if not os.environ.get(variable):
        pytest.skip(f"{variable} is not set")

    return os.environ[variable]


def redis_url():
    return url_in("TEST_REDIS_URL")


@pytest.fixture(params=DATABASES)
def database_url(request, server_urls, tmp_path):
    """The URL of an empty database of each kind."""
    return url_of(request.param, server_urls, tmp_path / "test.db")


@pytest.fixture(scope="module", params=DATABASES)
def module_url(request, server_urls):
    """The URL of an empty database of each kind, for what a module makes once."""
    return url_of(request.param, server_urls)


EARLIER_THREADS = pytest.StashKey()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Remember the threads that earlier tests have left behind."""
    threads = set(threading.enumerate())
    item.stash[EARLIER_THREADS] = threads - {threading.current_thread()}


@pytest.fixture
def caplog(caplog, request):
    """The log of a test, without what the threads of earlier tests log meanwhile."""
    earlier = request.node.stash[EARLIER_THREADS]

    def is_own(record):
        return threading.current_thread() not in earlier

    caplog.handler.addFilter(is_own)
    yield caplog
    caplog.handler.removeFilter(is_own)


@pytest.fixture
def db():
    return SQLAlchemy(model_class=Base)


@pytest.fixture
def records():
    return FlaskRecords(app_errors=True)


@pytest.fixture
def sent(records):
    """The names of the events that were sent."""
    sent = []
    records.events()(lambda event, record, context: sent.append(event))
    return sent


@pytest.fixture
def users(records):
    return records.add(
        "users",
        SQLAlchemyService(User, hidden=["password"], whitelist=["$populate"]),
        public=True,
    )


@pytest.fixture
def rooms(records):
    return records.add(
        "rooms", SQLAlchemyService(Room, whitelist=["$populate"]), public=True
    )


@pytest.fixture
def messages(records):
    """A service with pages, where many records can be written at once."""
    return records.add(
        "messages",
        SQLAlchemyService(
            Message,
            paginate={"default": 10, "max": 50},
            multi=True,
            whitelist=["$populate", "$and", "$nor", "$not", "$like", "$search"],
        ),
        public=True,
    )


@pytest.fixture
def app(db, records, users, rooms, messages):
    """An app with the three services, on SQLite in memory."""
    with served(db, records, "sqlite://") as app:
        yield app


@pytest.fixture(scope="module", params=DATABASES)
def example(request, server_urls, tmp_path_factory):
    """The example application, on an empty database of each kind."""
    # What it needs is defined here, too.
    from .example import loaded_on

    folder = tmp_path_factory.mktemp("example")

    with loaded_on(request.param, server_urls, folder) as module:
        yield module


@pytest.fixture
def api(example):
    """A client of the example application."""
    from .example import Api

    return Api(example.app)


@pytest.fixture
def ann(api):
    """A user of the example application."""
    return api.person(name="Ann")


@pytest.fixture
def bob(api):
    """Another user of the example application."""
    return api.person(name="Bob")


@pytest.fixture
def provider():
    """An OAuth provider that runs."""
    from .oauth_providers import Provider

    provider = Provider()

    with running(provider) as provider.url:
        yield provider


@contextmanager
def served(db, records, url, **config):
    """An app that serves the services of an extension from an empty database."""
    app = Flask("tests")
    app.config.from_mapping(SQLALCHEMY_DATABASE_URI=url, **config)
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        sa.event.listen(db.engine, "connect", enforce_foreign_keys)
        db.create_all()

    try:
        yield app
    finally:
        with app.app_context():
            leave(db)


def leave(db):
    """Disconnect from a database, and leave it empty."""
    db.session.remove()

    # A database in memory ends with its only connection.
    if not isinstance(db.engine.pool, sa.StaticPool):
        db.drop_all()

    db.engine.dispose()


@sa.event.listens_for(sa.Engine, "connect")
def leave_the_disk_alone(connection, record):
    """Let SQLite not wait for the disk, which takes longer than most tests."""
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA synchronous = OFF")


def enforce_foreign_keys(connection, record):
    if type(connection).__module__.startswith("sqlite3"):
        connection.execute("PRAGMA foreign_keys = ON")


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture(params=["wsgi", "asgi"])
def transport(request, monkeypatch):
    """The kind of server that a test of connections runs with: both, in turn."""
    # That module imports this one.
    from .realtime import SERVED_BY

    monkeypatch.setitem(SERVED_BY, "name", request.param)
    return request.param


@pytest.fixture
def site(records, tmp_path):
    """A running application with real-time connections, whose only user is Ann."""
    # That module imports this one.
    from .realtime import live

    with live(records, tmp_path) as site:
        yield site


@pytest.fixture
def app_context(app):
    with app.app_context():
        yield


class QuietHandler(WSGIRequestHandler):
    """Logs no requests, since tests look at what is logged."""

    def log_request(self, *args):
        pass


@contextmanager
def running(app):
    """The address of a server that answers real HTTP for an app."""
    server = make_server("127.0.0.1", 0, app, True, request_handler=QuietHandler)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()

    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Leaks:
    """Looks for passwords, hashes and tokens in all that is answered and logged, as it
    passes.
    """

    HASH = re.compile(rb"\$argon2|\$2[aby]\$\d\d\$|scrypt:\d|pbkdf2:\w+:\d")
    TOKEN = re.compile(rb"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.")
    FORMS = (
        str,
        escape,
        lambda text: quote_plus(text, errors="replace"),
        lambda text: json.dumps(text)[1:-1],
        lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    )
    """The forms that a text may be written in."""

    def __init__(self):
        self.found = {}
        """The secrets and their places, in the order of finding."""
        self.passwords = set()
        """The passwords that were sent, in all forms."""

    def look_at(self, text, place, may_have_token=False):
        """Look for secrets in what was answered or logged."""
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")

        if self.HASH.search(data):
            self.found[f"a hash in {place}"] = True

        if not may_have_token and self.TOKEN.search(data):
            self.found[f"a token in {place}"] = True

        if any(password in data for password in self.passwords):
            self.found[f"a password in {place}"] = True

    def remember_passwords(self, body):
        """Look for the passwords of a body from now on."""
        if b"password" not in body:
            return

        try:
            json.loads(body, object_hook=self._remember)
        except (ValueError, RecursionError):
            self._remember(dict(parse_qsl(body.decode("utf-8", "replace"))))

    def _remember(self, record):
        password = record.get("password")

        # Shorter and simpler ones occur by chance.
        is_secret = isinstance(password, str) and len(password) >= 8

        if is_secret and len(set(password)) >= 5:
            forms = {str(form(password)) for form in self.FORMS}
            self.passwords |= {form.encode("utf-8", "replace") for form in forms}

        return record

    def look_at_answer(self, app, response, **rest):
        """Look at the answer of an application, and at its body while it is sent."""
        # What the application has not read can't be in its answer.
        self.remember_passwords(getattr(request, "_cached_data", b""))
        place = f"{current_test()}: {request.method} {request.path}"
        may_have_token = response.status_code < 400 and is_login(app)
        self.look_at(str(response.headers), f"{place}, headers", may_have_token)

        if response.is_sequence:
            self.look_at(b"".join(response.iter_encoded()), place, may_have_token)
        else:
            response.response = self._streamed(response.response, place, may_have_token)

    def _streamed(self, chunks, *args):
        seen = b""

        try:
            for chunk in chunks:
                # A secret may be cut in two.
                seen = seen[-2000:] + (
                    chunk.encode() if isinstance(chunk, str) else chunk
                )
                self.look_at(seen, *args)
                yield chunk
        finally:
            getattr(chunks, "close", str)()


def current_test():
    return os.environ.get("PYTEST_CURRENT_TEST", "no test")


def is_login(app):
    """Return whether the current request is for a login."""
    records = app.extensions.get("records")
    path = (request.blueprint or "").rpartition("records:")[2]
    service = records and records.services.get(path)
    is_service = isinstance(getattr(service, "target", None), AuthenticationService)
    return is_service or (request.endpoint or "").endswith("records_oauth.callback")


LEAKS = Leaks()
"""The secrets that have got out in this run, which then fails."""


def pytest_configure(config):
    request_finished.connect(LEAKS.look_at_answer)


def pytest_make_parametrize_id(val, argname):
    """Name cases of hashes and tokens, which are random, alike in all processes."""
    text = val.encode("utf-8", "replace") if isinstance(val, str) else b""
    is_random = Leaks.HASH.search(text) or Leaks.TOKEN.search(text)
    return argname if is_random else None


def pytest_runtest_logreport(report):
    if report.when == "teardown":
        for title, text in report.sections:
            LEAKS.look_at(text, f"{report.nodeid}: {title}")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    LEAKS.found |= getattr(node, "workeroutput", {}).get("leaks", {})


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["leaks"] = LEAKS.found

    if LEAKS.found:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers():
    """Run one worker more than there are processors, unless the environment says how
    many: tests wait a third of the time.
    """
    count = yield
    return count if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS") else count + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect no garbage meanwhile, and leave the tests out of all later collections,
    which take a second each otherwise.
    """
    gc.disable()

    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_terminal_summary(terminalreporter):
    for server, name in MISSING.items():
        terminalreporter.write_line(f"No test ran on {server}: {name} is not set.")

    for leak in LEAKS.found:
        terminalreporter.write_line(f"LEAK: {leak}", red=True)
