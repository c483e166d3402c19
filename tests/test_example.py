"""The example application, used as its readers use it."""

from __future__ import annotations

import json
import subprocess
import sys
from http.client import HTTPConnection
from urllib.parse import urlencode

import jwt
import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher

from .example import loaded
from .leaks import current_test
from .leaks import LEAKS
from .processes import call
from .processes import environment
from .processes import gunicorn
from .processes import logged_in
from .processes import PASSWORD
from .processes import ROOT

VISIBLE = ["avatar", "createdAt", "email", "githubId", "googleId", "id", "name"]

LOG_IN = f"""
from wsgi import app

user = {{"email": "ada@example.com", "password": "{PASSWORD}"}}
client = app.test_client()
client.post("/users", json=user)
login = client.post("/authentication", json={{"strategy": "local", **user}})
headers = {{"Authorization": "Bearer " + login.get_json()["accessToken"]}}
"""

COUNT_STATEMENTS = """
import json
import sys

import sqlalchemy as sa

from wsgi import db

statements = []
found = []

with app.app_context():
    sa.event.listen(
        db.engine, "before_cursor_execute", lambda *args: statements.append(args[2])
    )

for path in sys.argv[1:]:
    statements.clear()
    page = client.get(path, headers=headers).get_json()
    found.append([page["total"], len(page["data"]), len(statements)])

print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("example")


@pytest.fixture(scope="module")
def file(folder):
    """The database that the example is served from."""
    return folder / "example.db"


@pytest.fixture(scope="module")
def host(file):
    """Where the example is served, filled with its data."""
    fill(file, "--messages", "2000")

    with gunicorn(f"sqlite:///{file}", file.parent) as server:
        yield server.host

    assert server.complaints == []


@pytest.fixture
def connection(host):
    connection = HTTPConnection(host, timeout=60)
    yield connection

    connection.close()


@pytest.fixture(scope="module")
def token(host):
    """A token for calls that are not about users."""
    connection = HTTPConnection(host, timeout=60)
    token = logged_in(connection)
    connection.close()
    return token


@pytest.fixture
def get(connection, token):
    def get(path):
        status, body = call(connection, "GET", path, None, token)
        assert status == 200, body
        return body

    return get


def fill(file, *options):
    run(file, "-m", "flask", "--app", "wsgi", "example-data", *options)


def run(file, *arguments):
    """Return the output of a Python process that uses a database."""
    process = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(f"sqlite:///{file}", file.parent),
        capture_output=True,
        text=True,
    )
    LEAKS.look_at(process.stdout + process.stderr, f"{current_test()}: a process")
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout


def select(file, statement, **values):
    """The rows of a database file."""
    engine = sa.create_engine(f"sqlite:///{file}")

    with engine.connect() as connection:
        rows = connection.execute(sa.text(statement), values).all()

    engine.dispose()
    return rows


def id_of(token):
    """The id of the user of a token."""
    return jwt.decode(token, options={"verify_signature": False})["sub"]


def is_password(file, email, password):
    """Return whether the database has the hash of a password for a user."""
    statement = "SELECT password FROM user_account WHERE email = :email"
    hash = select(file, statement, email=email)[0].password
    return hash.startswith("$argon2id$") and PasswordHasher().verify(hash, password)


@pytest.fixture
def example(tmp_path):
    """The example in this process, on a database of its own."""
    with loaded(f"sqlite:///{tmp_path / 'own.db'}", tmp_path) as example:
        yield example


def make_data(example, count):
    """Run the command that makes messages."""
    runner = example.app.test_cli_runner()
    assert runner.invoke(args=["example-data", "--messages", count]).exit_code == 0


def test_data_can_be_made_again(example, tmp_path):
    tables = "user_account", "room", "message"

    make_data(example, 2000)
    make_data(example, 30)

    file = tmp_path / "own.db"
    counts = [select(file, f"SELECT count(*) FROM {table}") for table in tables]
    assert counts == [[(100,)], [(16,)], [(2030,)]]


def test_data_is_not_that_of_users(example, ann, api):
    """A room of the same name has none of its messages."""
    room = api("POST", "/rooms", {"name": "Lobby"}, ann.token)[1]

    make_data(example, 500)

    with example.app.app_context():
        messages = example.db.session.scalars(sa.select(example.Message)).all()
        lobby = sa.select(example.Room.id).filter_by(name="Lobby", userId=None)
        lobby_id = example.db.session.scalars(lobby).one()
        user_ids = {message.userId for message in messages}
        room_ids = {message.roomId for message in messages}

    assert ann.id not in user_ids
    assert room["id"] not in room_ids
    assert lobby_id in room_ids


@pytest.mark.slow
def test_pages_of_the_full_data_take_two_statements(tmp_path):
    """And two tell who asks."""
    file = tmp_path / "full.db"
    fill(file)

    found = json.loads(
        run(
            file,
            *("-c", LOG_IN + COUNT_STATEMENTS),
            "/messages",
            "/messages?$sort[createdAt]=-1&$limit=50&$skip=99990",
            "/messages?archived=true&roomId=3&$limit=20&$select[]=text",
            "/messages?text[$search]=music%20never%20heard",
            "/messages?$limit=50&$populate[]=user&$populate[]=room",
        )
    )

    archived = found[2].pop(0)
    assert found == [[100000, 10, 4], [100000, 10, 4], [20, 4], [0, 0, 3]] + [
        [100000, 50, 6]
    ]
    assert 400 < archived < 900


def test_find_filters_sorts_and_selects(get):
    path = "/messages?roomId=3&read=false&$sort[createdAt]=-1&$limit=5&$select[]=roomId"
    page = get(f"{path}&$select[]=read&$select[]=createdAt")

    times = [record.pop("createdAt") for record in page["data"]]
    assert times == sorted(times, reverse=True)
    assert {len(record) for record in page["data"]} == {3}
    assert [(record["roomId"], record["read"]) for record in page["data"]] == [
        (3, False)
    ] * 5


def test_search_finds_a_word_in_any_case(get, file):
    rows = select(file, "SELECT id FROM message WHERE text LIKE '%tomorrow%'")

    page = get("/messages?text[$search]=ToMorrow&$sort[id]=1&$limit=50")

    assert page["total"] == len(rows) > 50
    assert [record["id"] for record in page["data"]] == [row.id for row in rows][:50]


def test_pages_together_are_all_records_once(get, file):
    rows = select(file, "SELECT id FROM message WHERE user_id = 5 AND read")
    path = "/messages?userId=5&read=true&$sort[read]=1&$limit=7&$skip="

    pages = [get(f"{path}{skip}") for skip in range(0, len(rows) + 7, 7)]

    ids = [record["id"] for page in pages for record in page["data"]]
    assert sorted(ids) == sorted(row.id for row in rows)
    assert {page["total"] for page in pages} == {len(rows)}


def test_page_has_a_default_and_a_maximal_size(get):
    sizes = [len(get(f"/messages?{limit}")["data"]) for limit in ("", "$limit=1000")]

    assert sizes == [10, 50]


def test_populated_user_and_room_are_as_their_services_show_them(get):
    page = get("/messages?$limit=1&$skip=500&$populate[]=user&$populate[]=room")

    message = page["data"][0]
    assert message["user"] == get(f"/users/{message['userId']}")
    assert message["room"] == get(f"/rooms/{message['roomId']}")
    assert sorted(message["user"]) == VISIBLE


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_password_is_stored_as_a_hash(connection, file, verb):
    data = {"email": f"{verb}@example.com".lower(), "password": f"{PASSWORD} staple"}
    path, token = "/users", None

    if verb != "POST":
        token = logged_in(connection, verb)
        path += f"/{id_of(token)}"

    status, body = call(connection, verb, path, data, token)

    assert (status, sorted(body)) == (201 if verb == "POST" else 200, VISIBLE)
    assert is_password(file, **data)


@pytest.mark.parametrize("password", [2718281828459, 2718281828.5, True, [PASSWORD]])
def test_password_that_is_not_text_is_refused(connection, file, password):
    """The column takes a number for text, which must not be stored as it is."""
    email = f"{type(password).__name__}@example.com"
    data = {"email": email, "password": password}

    status, body = call(connection, "POST", "/users", data)

    rows = select(file, "SELECT password FROM user_account WHERE email = :e", e=email)
    assert (status, body["errors"], rows) == (400, {"password": "is not text"}, [])


def test_password_is_nowhere_in_the_file(connection, file):
    data = {"email": "grep@example.com", "password": "a needle in the file"}

    call(connection, "POST", "/users", data)

    content = b"".join(each.read_bytes() for each in file.parent.glob("example.db*"))
    assert (b"grep@example.com" in content, b"needle" in content) == (True, False)


def test_password_of_a_form_is_stored_as_a_hash(connection, file):
    form = {"email": "form@example.com", "password": PASSWORD}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    connection.request("POST", "/users", urlencode(form), headers)
    response = connection.getresponse()

    assert (response.status, PASSWORD in response.read().decode()) == (201, False)
    assert is_password(file, **form)


@pytest.mark.parametrize(
    "path",
    [
        "/users?password[$ne]=",
        "/users?$sort[password]=1",
        "/users?$select[]=password",
        "/users?$or[0][password]=x",
        "/users/1?password[$gt]=a",
    ],
)
def test_password_can_not_be_asked_for(connection, token, path):
    answer = call(connection, "GET", path, None, token)

    assert answer == (
        400,
        {
            "name": "BadRequest",
            "message": "'password' is not a field.",
            "code": 400,
            "className": "bad-request",
            "errors": {"password": "is not a field"},
        },
    )


def test_room_is_removed_with_its_messages(connection, get, token):
    others = get("/messages?$limit=0")["total"]
    id = call(connection, "POST", "/rooms", {"name": "Attic"}, token)[1]["id"]
    texts = [{"text": "one", "roomId": id}, {"text": "two", "roomId": id}]
    created = call(connection, "POST", "/messages", texts, token)[1]

    removed = call(connection, "DELETE", f"/rooms/{id}", None, token)

    assert (removed[0], removed[1]["id"]) == (200, id)
    assert {each["roomId"] for each in created} == {id}
    assert get("/messages?$limit=0")["total"] == others


def test_user_is_removed_with_their_messages(connection, get):
    others = get("/messages?$limit=0")["total"]
    token = logged_in(connection, "leaver")
    texts = [{"text": "one"}, {"text": "two"}]
    created = call(connection, "POST", "/messages", texts, token)[1]

    removed = call(connection, "DELETE", f"/users/{id_of(token)}", None, token)

    assert (removed[0], removed[1]["email"]) == (200, "leaver@example.com")
    assert {each["userId"] for each in created} == {removed[1]["id"]}
    assert get("/messages?$limit=0")["total"] == others


def test_message_of_an_unknown_room_is_refused(connection, token):
    data = {"text": "hello", "roomId": 99999}

    status, body = call(connection, "POST", "/messages", data, token)

    problem = "refers to a record that is not there"
    assert (status, body["errors"]) == (409, {"roomId": problem})


def test_client_can_not_use_up_the_identifiers(api, ann):
    api("POST", "/rooms", {"id": 2**31 - 1, "name": "Attic"}, ann.token)
    created = api("POST", "/rooms", {"name": "Cellar"}, ann.token)[1]

    assert api("GET", f"/rooms/{created['id']}", None, ann.token) == (200, created)
