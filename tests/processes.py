"""Gunicorn in a process of its own, and calls over HTTP to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from .leaks import current_test, LEAKS
from .waiting import START, wait_until

ROOT = Path(__file__).parent.parent
PASSWORD = "correct horse battery"
SECRET = "5e" * 32


@dataclass
class Gunicorn:
    """A running server."""

    process: subprocess.Popen
    host: str
    log: list[str]
    """The lines that it has written, all of them once it has ended."""

    @property
    def workers(self):
        """The ids of the worker processes there have been, the oldest first."""
        return re.findall(r"Booting worker with pid: (\d+)", "".join(self.log))

    @property
    def memory(self):
        """The memory that the first worker holds, in megabytes."""
        pages = int(Path(f"/proc/{self.workers[0]}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    @property
    def served(self):
        """The number of requests that each worker process has answered."""
        return Counter(re.findall(r"Served by <(\d+)>", "".join(self.log)))

    @property
    def complaints(self):
        return [line for line in self.log if re.search("Traceback|ERROR|WARN", line)]


@contextmanager
def started(arguments, environment):
    """Start a gunicorn at a free port, and stop it after the block.

    :param arguments: Its command line: options, and the application if no file of
        settings names it.
    :param environment: Its environment.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "--bind", "127.0.0.1:0", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    log = []
    has_worker = threading.Event()
    reader = threading.Thread(target=remember, args=(process.stdout, log, has_worker))
    reader.start()

    try:
        assert has_worker.wait(30), "".join(log)
        host = re.search(r"http://(\S+)", "".join(log))[1]
        yield Gunicorn(process, host, log)
        process.terminate()
        process.wait(60)
    finally:
        # A worker that outlives it would keep its output open.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

        process.wait()
        reader.join()
        process.stdout.close()
        LEAKS.look_at("".join(log), f"{current_test()}: the log of gunicorn")

    assert process.returncode == 0, "".join(log)


@contextmanager
def gunicorn(url, folder, application="wsgi", **variables):
    """A gunicorn that serves an application from a database, the example by default, as
    soon as each of its workers has answered, and is stopped after the block.

    :param application: The module of the application.
    """
    options = "-c instance/gunicorn.conf.py --access-logfile -"
    arguments = [*options.split(), "--access-logformat", "Served by %(p)s"]
    arguments.append(f"{application}:asgi")

    with started(arguments, {**environment(url, folder), **variables}) as server:
        wait_for_workers(server)
        yield server


def remember(lines, log, has_worker):
    for line in lines:
        log.append(line)

        if "Booting worker" in line:
            has_worker.set()


def wait_for_workers(server):
    """Ask until both workers have answered."""

    def have_answered():
        connections = [connected(server.host) for _ in range(8)]

        for connection in connections:
            connection.request("GET", "/")

        for connection in connections:
            connection.getresponse().read()
            connection.close()

        return len(server.served) == 2

    wait_until(have_answered, START)


def free_port():
    """A port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def connected(host):
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.connect()
    return connection


def environment(url, folder):
    """The environment of a process that uses a database."""
    # gunicorn puts its control socket into this folder, not into the home directory.
    own = {"DATABASE_URL": url, "XDG_RUNTIME_DIR": str(folder), "SECRET_KEY": SECRET}
    load = {"WEB_CONCURRENCY": "2", "THREADS": "4", "FLASK_RATELIMIT_ENABLED": "false"}
    return {**os.environ, **own, **load}


def call(connection, verb, path, data=None, token=None):
    """The status and the body of the answer to a request."""
    body = None if data is None else json.dumps(data)
    headers = {"Content-Type": "application/json"}

    if token is not None:
        headers["Authorization"] = f"Bearer {token}"

    connection.request(verb, path, body, headers)
    response = connection.getresponse()
    answer = response.read()
    LEAKS.remember_passwords((body or "").encode())
    is_login = path == "/authentication" and response.status < 400
    LEAKS.look_at(answer, f"{current_test()}: {verb} {path} of gunicorn", is_login)
    return response.status, json.loads(answer)


def logged_in(connection, name="ada"):
    """The token of a new user."""
    user = {"email": f"{name}@example.com", "password": PASSWORD}
    assert call(connection, "POST", "/users", user)[0] == 201
    login = {"strategy": "local", **user}
    return call(connection, "POST", "/authentication", login)[1]["accessToken"]


def drop_tables(url):
    engine = sa.create_engine(url)
    tables = sa.MetaData()
    tables.reflect(engine)
    tables.drop_all(engine)
    engine.dispose()
