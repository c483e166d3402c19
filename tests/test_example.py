"""The example application, used as its readers use it."""

from __future__ import annotations

import json
import subprocess
import sys
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from werkzeug.security import check_password_hash

from .test_gunicorn import call
from .test_gunicorn import environment
from .test_gunicorn import gunicorn
from .test_gunicorn import ROOT

PASSWORD = "correct horse battery"

COUNT_STATEMENTS = """
import json
import sys

import sqlalchemy as sa

from wsgi import app, db

statements = []
client = app.test_client()
found = []

with app.app_context():
    sa.event.listen(
        db.engine, "before_cursor_execute", lambda *args: statements.append(args[2])
    )

for path in sys.argv[1:]:
    statements.clear()
    page = client.get(path).get_json()
    found.append([page["total"], len(page["data"]), len(statements)])

print(json.dumps(found))
"""

TAKE_LARGEST_ID = """
from wsgi import app

client = app.test_client()
client.post("/rooms", json={"id": 2**31 - 1, "name": "Attic"})
created = client.post("/rooms", json={"name": "Cellar"}).get_json()
print(client.get(f"/rooms/{created['id']}").get_json() == created)
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


@pytest.fixture
def get(connection):
    def get(path):
        status, body = call(connection, "GET", path)
        assert status == 200, body
        return body

    return get


def fill(file, *options):
    run(file, "-m", "flask", "--app", "wsgi", "example-data", *options)


def run(file, *arguments):
    """What a Python process prints that uses a database."""
    process = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(f"sqlite:///{file}", file.parent),
        capture_output=True,
        text=True,
    )
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout


def select(file, statement, **values):
    """The rows of a database file."""
    engine = sa.create_engine(f"sqlite:///{file}")

    with engine.connect() as connection:
        rows = connection.execute(sa.text(statement), values).all()

    engine.dispose()
    return rows


def password_of(file, email):
    statement = "SELECT password FROM user_account WHERE email = :email"
    return select(file, statement, email=email)[0].password


def test_data_can_be_made_again(tmp_path):
    file = tmp_path / "again.db"
    tables = "user_account", "room", "message"

    fill(file, "--messages", "2000")
    fill(file, "--messages", "30")

    counts = [select(file, f"SELECT count(*) FROM {table}") for table in tables]
    assert counts == [[(100,)], [(16,)], [(2030,)]]


def test_pages_of_the_full_data_take_two_statements(tmp_path):
    file = tmp_path / "full.db"
    fill(file)

    found = json.loads(
        run(
            file,
            *("-c", COUNT_STATEMENTS),
            "/messages",
            "/messages?$sort[createdAt]=-1&$limit=50&$skip=99990",
            "/messages?archived=true&roomId=3&$limit=20&$select[]=text",
            "/messages?text[$search]=music%20never%20heard",
            "/messages?$limit=50&$populate[]=user&$populate[]=room",
        )
    )

    archived = found[2].pop(0)
    assert found == [[100000, 10, 2], [100000, 10, 1], [20, 2], [0, 0, 1]] + [
        [100000, 50, 4]
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
    assert sorted(message["user"]) == ["createdAt", "email", "id", "name"]


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
def test_password_is_stored_as_a_hash(connection, file, verb):
    data = {"email": f"{verb}@example.com"}
    path = "/users"

    if verb != "POST":
        path += f"/{call(connection, 'POST', path, data)[1]['id']}"

    status, body = call(connection, verb, path, {**data, "password": PASSWORD})

    assert (status, sorted(body)) == (
        201 if verb == "POST" else 200,
        ["createdAt", "email", "id", "name"],
    )
    assert check_password_hash(password_of(file, **data), PASSWORD)


@pytest.mark.parametrize("password", [2718281828459, 2718281828.5, True, [PASSWORD]])
def test_password_that_is_not_text_is_refused_or_hashed(connection, file, password):
    """The column takes a number for text, which must not be stored as it is."""
    email = f"{type(password).__name__}@example.com"
    data = {"email": email, "password": password}

    status, _ = call(connection, "POST", "/users", data)

    rows = select(file, "SELECT password FROM user_account WHERE email = :e", e=email)
    assert status == (201 if rows else 400)
    assert [row for row in rows if not row.password.startswith("scrypt:")] == []


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
    assert check_password_hash(password_of(file, form["email"]), PASSWORD)


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
def test_password_can_not_be_asked_for(connection, path):
    answer = call(connection, "GET", path)

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


@pytest.mark.parametrize(
    ("path", "field", "data"),
    [
        ("/rooms", "roomId", {"name": "Attic"}),
        ("/users", "userId", {"email": "leaver@example.com"}),
    ],
)
def test_room_or_user_is_removed_with_its_messages(connection, get, path, field, data):
    others = get("/messages?$limit=0")["total"]
    id = call(connection, "POST", path, data)[1]["id"]
    texts = [{"text": "one", field: id}, {"text": "two", field: id}]
    created = call(connection, "POST", "/messages", texts)[1]

    removed = call(connection, "DELETE", f"{path}/{id}")

    gone = [call(connection, "GET", f"/messages/{each['id']}")[0] for each in created]
    assert (removed[0], removed[1]["id"]) == (200, id)
    assert gone == [404, 404]
    assert get("/messages?$limit=0")["total"] == others


def test_message_of_an_unknown_room_is_refused(connection):
    data = {"text": "hello", "roomId": 99999}

    status, body = call(connection, "POST", "/messages", data)

    errors = {"roomId": "refers to a record that is not there"}
    assert (status, body["errors"]) == (409, errors)


def test_client_can_not_use_up_the_identifiers(tmp_path):
    assert run(tmp_path / "ids.db", "-c", TAKE_LARGEST_ID) == "True\n"
