"""The example starts without any set-up, in all workers at once."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from ..databases import new_database, SERVERS
from ..processes import call, connected, logged_in, ROOT, started, wait_for_workers


@pytest.fixture
def copy(tmp_path):
    """A folder with the example as it is cloned."""
    shutil.copy(ROOT / "wsgi.py", tmp_path)
    ignored = shutil.ignore_patterns("*.db*", "*.key")
    shutil.copytree(ROOT / "instance", tmp_path / "instance", ignore=ignored)
    return tmp_path


def serve(copy):
    """Start two workers in a folder, without a secret and a database."""
    own = {"WEB_CONCURRENCY": "2", "XDG_RUNTIME_DIR": str(copy)}
    names = ("SECRET_KEY", "DATABASE_URL")
    rest = {name: text for name, text in os.environ.items() if name not in names}
    options = ["-c", "instance/gunicorn.conf.py", "--chdir", str(copy)]
    log = ["--access-logfile", "-", "--access-logformat", "Served by %(p)s"]
    return started([*options, *log], rest | own)


def test_first_start_makes_a_secret_and_the_tables_once(copy):
    file = copy / "instance" / "secret.key"

    with serve(copy) as server:
        wait_for_workers(server)
        connection = connected(server.host)
        token = logged_in(connection)
        room = call(connection, "POST", "/rooms", {"name": "Lobby"}, token)
        connection.close()

        # Each of the workers takes the token.
        for _ in range(16):
            connection = connected(server.host)
            assert call(connection, "GET", "/rooms/1", None, token)[0] == 200
            connection.close()

    secret = file.read_text()
    assert server.complaints == []
    assert room == (201, {"id": 1, "name": "Lobby", "userId": 1})
    assert re.fullmatch("[0-9a-f]{64}", secret)
    assert oct(file.stat().st_mode) == "0o100600"

    with serve(copy) as server:
        connection = connected(server.host)
        assert call(connection, "GET", "/rooms/1", None, token)[0] == 200
        connection.close()

    assert file.read_text() == secret


@pytest.mark.parametrize("name", SERVERS)
def test_machines_that_start_at_once_all_do(copy, tmp_path_factory, name):
    """Each folder stands for a machine: a lock on the file is no lock for others."""
    if not (url := os.environ.get(SERVERS[name])):
        pytest.skip(f"{SERVERS[name]} is not set")

    folders = [tmp_path_factory.mktemp("machine") / "app" for _ in range(3)]

    with new_database(url) as own:
        rest = {"DATABASE_URL": str(own), "SECRET_KEY": "s" * 64, "PYTHONPATH": "."}
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", "import wsgi"],
                cwd=shutil.copytree(copy, folder),
                env=os.environ | rest,
                stderr=subprocess.PIPE,
                text=True,
            )
            for folder in folders
        ]
        errors = [process.communicate()[1] for process in processes]

    assert [process.returncode for process in processes] == [0] * 3, errors
