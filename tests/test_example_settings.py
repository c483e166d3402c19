"""The settings of the example application: its secret, and how often clients call."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent import futures

import jwt
import pytest
import redis
import sqlalchemy as sa

from .databases import redis_url
from .example import Api
from .example import loaded
from .example import new_email
from .processes import call
from .processes import connected
from .processes import gunicorn
from .processes import PASSWORD
from .processes import ROOT
from .processes import SECRET

LIMITED = {"FLASK_RATELIMIT_ENABLED": "true"}

START_AT_ONCE = """
import multiprocessing
from pathlib import Path
import flask_limiter, flask_records, flask_sqlalchemy

def start(number):
    barrier.wait()
    from wsgi import app, authentication, stored_secret

    with app.app_context():
        own = authentication.target.settings.tokens
        tokens[number] = own.create_token(number, token_id="x")[0]
        barrier.wait()

        for token in tokens.values():
            own.verify_token(token)

    for attempt in range(40):
        barrier.wait()
        secrets[attempt, number] = stored_secret(Path(f"{attempt}.key"))

processes = multiprocessing.get_context("fork")
manager = processes.Manager()
tokens, secrets = manager.dict(dict.fromkeys(range(4))), manager.dict()
barrier = processes.Barrier(4, timeout=60)
started = [processes.Process(target=start, args=[number]) for number in range(4)]

for process in started:
    process.start()

for process in started:
    process.join()

print([process.exitcode for process in started], len(set(secrets.values())))
"""
"""Starts the example in four processes that verify the tokens of each other. Then they
make 40 more secrets at the same moments.
"""


@pytest.fixture
def copy(tmp_path):
    """A folder with the example as it is cloned, without a secret."""
    (tmp_path / "instance").mkdir()

    for name in ("wsgi.py", "instance/config.py"):
        shutil.copy(ROOT / name, tmp_path / name)

    return tmp_path


@pytest.fixture
def file(copy):
    """Where a copy of the example keeps its secret."""
    return copy / "instance" / "secret.key"


def started(copy, **variables):
    """A copy of the example, without a secret in the environment."""
    url = f"sqlite:///{copy}/new.db"
    return loaded(url, copy, copy, **{"SECRET_KEY": "", **variables})


def test_processes_that_start_at_once_make_one_secret(copy, file):
    others = ("SECRET_KEY", "DATABASE_URL")
    rest = {name: text for name, text in os.environ.items() if name not in others}

    process = subprocess.run(
        [sys.executable, "-c", START_AT_ONCE],
        cwd=copy,
        env={**rest, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )

    assert (process.stderr, process.stdout) == ("", f"{[0] * 4} 40\n")
    assert re.fullmatch("[0-9a-f]{64}", file.read_text())
    assert oct(file.stat().st_mode) == "0o100600"
    assert list(file.parent.glob("*secret*")) == [file]


def test_secret_is_kept_when_the_process_starts_again(copy, file):
    with started(copy) as example:
        person = Api(example.app).person()
        secret = file.read_bytes()

    with started(copy) as example, example.app.app_context():
        payload = example.authentication.target.settings.tokens.verify_token(
            person.token
        )

    assert (payload["sub"], file.read_bytes()) == (str(person.id), secret)


def test_secrets_of_two_installations_differ(copy, file):
    secrets = []

    for _ in range(2):
        with started(copy):
            secrets.append(file.read_text())
            file.unlink()

    assert len(set(secrets)) == 2


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"short", b"x" * 31, b"\xff" * 32],
    ids=["empty", "line", "short", "a byte less", "no text"],
)
def test_wrong_secret_in_the_file_is_an_error_that_names_it(copy, file, content):
    file.write_bytes(content)

    with pytest.raises(RuntimeError, match="secret.key"), started(copy):
        pass

    assert file.read_bytes() == content


@pytest.mark.parametrize("secret", ["x" * 32, "x" * 500, "x" * 64 + "\n"])
def test_secret_of_the_file_is_taken_whoever_made_it(copy, file, secret):
    file.write_text(secret)

    with started(copy) as example:
        assert example.app.secret_key.strip() == secret.strip()

    assert file.read_text() == secret


@pytest.mark.parametrize("variable", ["SECRET_KEY", "FLASK_SECRET_KEY"])
def test_secret_of_the_environment_makes_no_file(copy, file, variable):
    with started(copy, **{variable: SECRET}) as example:
        assert example.app.secret_key == SECRET

    assert not file.exists()


def test_short_secret_of_the_environment_is_an_error(copy, file):
    with pytest.raises(RuntimeError, match="shorter than 32 bytes"):
        with started(copy, SECRET_KEY="x" * 31):
            pass

    assert not file.exists()


def test_tokens_are_signed_with_the_secret_of_the_environment(tmp_path):
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path) as example:
        person = Api(example.app).person()

    options = {"audience": "https://yourdomain.com", "issuer": "feathers"}
    payload = jwt.decode(person.token, SECRET, ["HS256"], **options)
    assert payload["sub"] == str(person.id)


@pytest.fixture
def api(tmp_path):
    """A client of the example as it is, with limits."""
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path, **LIMITED) as example:
        yield Api(example.app)


def test_eleventh_registration_of_a_minute_is_refused(api):
    """Wherever the client says that it is, and whether they succeed."""
    users = [{"email": new_email(), "password": PASSWORD} for _ in range(9)]
    headers = [{"X-Forwarded-For": f"10.0.0.{number}"} for number in range(9)]

    answers = [api("POST", "/users", users[i], headers=headers[i]) for i in range(9)]
    answers.append(api("POST", "/users", {}))
    refused = api("POST", "/users", users[0], headers={"X-Forwarded-For": "10.1.0.0"})

    assert [status for status, _ in answers] == [201] * 9 + [400]
    assert refused == (
        429,
        {
            "name": "TooManyRequests",
            "message": "Too many requests: 10 per 1 minute at most.",
            "code": 429,
            "className": "too-many-requests",
            "errors": {},
        },
    )


def test_twenty_first_login_of_a_minute_is_refused(api):
    person = api.person()

    answers = [api.log_in(person.email, f"guess {number}") for number in range(18)]
    answers += [api.log_in(person.email), api.log_in(person.email), api.log_in("x")]

    statuses = [status for status, _ in answers]
    assert statuses == [401] * 18 + [201, 429, 429]
    assert api("GET", "/rooms", None, person.token)[0] == 200


def test_refusal_tells_how_many_seconds_to_wait(tmp_path):
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path, **LIMITED) as example:
        client = example.app.test_client()
        answers = [client.post("/users", json={}) for _ in range(11)]

    waits = [answer.headers.get("Retry-After") for answer in answers]
    assert waits[:-1] == [None] * 10
    assert 0 < int(waits[-1]) <= 60


def test_limits_do_not_concern_other_calls(api):
    person = api.person()
    calls = [("GET", "/users"), ("GET", person.path), ("PATCH", person.path)] * 10

    answers = [api(verb, path, {"name": "Ada"}, person.token) for verb, path in calls]

    assert [status for status, _ in answers] == [200] * 30


def test_limits_can_be_switched_off(tmp_path):
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path) as example:
        api = Api(example.app)
        answers = [api.register(new_email()) for _ in range(12)]

    assert [status for status, _ in answers] == [201] * 12


@pytest.mark.parametrize(("path", "number"), [("/rooms", 10), ("/messages", 60)])
def test_writes_of_a_minute_are_limited(api, path, number):
    person = api.person()

    answers = [api("POST", path, {}, person.token) for _ in range(number + 1)]

    assert [status in (400, 409) for status, _ in answers[:-1]] == [True] * number
    assert answers[-1][0] == 429
    assert api("GET", path, None, person.token)[0] == 200


def test_limits_of_writes_come_from_the_environment(tmp_path):
    limits = {"FLASK_RECORDS_LIMITS": '{"messages.create": "2 per minute"}'}

    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path, **LIMITED, **limits) as one:
        api = Api(one.app)
        person = api.person()
        data = {"text": "hello"}
        answers = [api("POST", "/messages", data, person.token) for _ in range(3)]

    assert [status for status, _ in answers] == [201, 201, 429]


def modes_of(folder):
    """The modes of the files of a database, by the ends of their names."""
    files = folder.glob("new.db*")
    return {file.name[6:]: oct(file.stat().st_mode & 0o777) for file in files}


def test_files_of_the_database_are_for_their_owner_alone(tmp_path):
    with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path) as example:
        Api(example.app).person()
        modes = modes_of(tmp_path)

    assert modes == {"": "0o600", "-wal": "0o600", "-shm": "0o600"}


def test_files_that_were_for_others_are_for_their_owner_again(tmp_path):
    engine = sa.create_engine(f"sqlite:///{tmp_path}/new.db")

    # The connection keeps the files of its log.
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        connection.exec_driver_sql("CREATE TABLE other (id INTEGER)")

        for file in tmp_path.glob("new.db*"):
            file.chmod(0o666)

        with loaded(f"sqlite:///{tmp_path}/new.db", tmp_path) as example:
            Api(example.app).person()
            after = modes_of(tmp_path)

    engine.dispose()
    assert after == dict.fromkeys(["", "-wal", "-shm"], "0o600")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_database_in_memory_makes_no_file(copy, url):
    with loaded(url, copy, copy):
        pass

    assert [path.name for path in copy.rglob("*memory*")] == []


@pytest.fixture
def storage():
    """The URL of a database of Redis in which nobody has been counted."""
    url = redis_url()

    with redis.Redis.from_url(url) as client:
        forget(client)
        yield url
        forget(client)


def forget(client):
    for key in client.scan_iter("LIMIT*/records/users/create/*"):
        client.delete(key)


def test_workers_count_together_in_redis(storage, tmp_path):
    """In memory, each would count for itself."""
    variables = {**LIMITED, "RATELIMIT_STORAGE_URI": storage}

    def register(host):
        connection = connected(host)
        data = {"email": new_email(), "password": PASSWORD}
        status, _ = call(connection, "POST", "/users", data)
        connection.close()
        return status

    with (
        gunicorn(f"sqlite:///{tmp_path}/new.db", tmp_path, **variables) as server,
        futures.ThreadPoolExecutor(14) as pool,
    ):
        statuses = list(pool.map(register, [server.host] * 14))

    assert sorted(statuses) == [201] * 10 + [429] * 4
