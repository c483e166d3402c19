"""A PostgreSQL of a test's own, which it may stop."""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from ...processes import free_port
from ...waiting import START, wait_until

OPTIONS = "-c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=40"


class PostgreSQL:
    """A server with an empty database."""

    def __init__(self, folder, port):
        self._folder = folder
        self._port = port
        self.process = None
        self.url = f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
        """The URL of the database."""

    def start(self):
        """Start it, and wait until it answers."""
        place = f"-D {self._folder} -k {self._folder} -p {self._port}"
        self.process = run_as_postgres("postgres", *place.split(), *OPTIONS.split())
        wait_until(self.answers, START)

    def stop(self):
        """Stop it as a crash would: it closes all connections at once."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(60)

    @contextmanager
    def replica(self):
        """A server that follows this one, and takes no writes."""
        arguments = f"-h 127.0.0.1 -p {self._port} -U postgres -R -c fast -D"

        with new_folder() as folder:
            copy = run_as_postgres("pg_basebackup", *arguments.split(), str(folder))
            assert copy.wait(60) == 0

            with running(folder) as server:
                yield server

    def answers(self):
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)

        try:
            engine.connect().close()
        except sa.exc.OperationalError:
            return False

        return True


@contextmanager
def postgresql():
    """A PostgreSQL that runs, and is removed after the block."""
    with new_folder() as folder:
        options = ["-D", str(folder), "-U", "postgres", "-A", "trust"]
        assert run_as_postgres("initdb", *options).wait(60) == 0

        with running(folder) as server:
            yield server


@contextmanager
def new_folder():
    # The tests' own folders are closed to the user that it runs as.
    folder = Path(tempfile.mkdtemp(prefix="records-postgresql-"))

    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")

    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def running(folder):
    server = PostgreSQL(folder, free_port())
    server.start()

    try:
        yield server
    finally:
        server.stop()


def run_as_postgres(name, *arguments):
    """Start one of its programs, which refuse to be run as root."""
    user = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([program(name), *arguments], cwd="/", **quiet, **user)


def program(name):
    """The path of a program, which Debian keeps apart for each version."""
    found = [*sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), name]
    return str(found[0])
