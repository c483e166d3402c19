"""Users reach their own records only, and hidden fields not at all."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column
from sqlalchemy.orm import relationship
from sqlalchemy.orm import Session

from flask_records import AuthenticationService
from flask_records import FlaskRecords
from flask_records import hash_password
from flask_records import limit_to_user
from flask_records import set_user_field
from flask_records import SQLAlchemyService
from flask_records import Strategy

from .authentication import ANN
from .authentication import bearer
from .authentication import CHEAP
from .authentication import key_in
from .authentication import log_in
from .authentication import serving
from .conftest import counted


class Base(DeclarativeBase):
    # MariaDB compares text without regard to case unless it is told otherwise.
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class Person(Base):
    __tablename__ = "row_level_user"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(sa.String(100), unique=True)
    password: Mapped[str | None] = mapped_column(sa.String(200))

    notes: Mapped[list[Note]] = relationship(back_populates="user")


class Note(Base):
    __tablename__ = "row_level_note"

    # PostgreSQL counts on from here, whatever identifiers the notes of a test have.
    id: Mapped[int] = mapped_column(sa.Identity(start=100), primary_key=True)
    text: Mapped[str] = mapped_column(sa.String(50))
    rank: Mapped[int | None]
    userId: Mapped[int | None] = mapped_column(
        "user_id", sa.ForeignKey("row_level_user.id")
    )

    user: Mapped[Person | None] = relationship(back_populates="notes")


BOB = {"email": "bob@example.com", "password": "battery staple"}

EVE = {"email": "eve@example.com", "password": "purple monkey"}

NOTES = [
    {"id": 1, "text": "ann's", "rank": 1, "userId": 1},
    {"id": 2, "text": "ann's", "rank": 2, "userId": 1},
    {"id": 3, "text": "bob's", "rank": 1, "userId": 2},
    {"id": 4, "text": "bob's", "rank": 2, "userId": 2},
    {"id": 5, "text": "nobody's", "rank": 2, "userId": None},
]

TEXT = {"text": "changed"}

BY_ID = [("GET", None), ("PUT", TEXT), ("PATCH", TEXT), ("DELETE", None)]
"""The calls on one note: the verb and the data."""

WHITELIST = [
    *("$and", "$nor", "$not", "$null", "$like", "$notLike", "$ilike", "$between"),
    *("$regex", "$search", "$populate"),
]

FOUND = {
    "": [1, 2],
    "userId=1": [1, 2],
    "userId=2": [],
    "userId=2&userId=1": [1, 2],
    "userId=2&userId=2": [],
    "userId=1&userId=": [1, 2],
    "userId": [],
    "userId=": [],
    "userId=null": [],
    "userId[]=": [],
    "userId[]=2&userId[]=1": [1, 2],
    "userId[0]=2": [],
    "userId[99]=2": [],
    "userId[$eq]=2": [],
    "userId[$ne]=1": [],
    "userId[$ne]=2": [1, 2],
    "userId[$ne]=": [1, 2],
    "userId[$in]=2": [],
    "userId[$in][]=1&userId[$in][]=2": [1, 2],
    "userId[$in][0]=": [],
    "userId[$in][99]=2": [],
    "userId[$nin]=1": [],
    "userId[$nin][0]=2": [1, 2],
    "userId[$gt]=1": [],
    "userId[$gte]=0": [1, 2],
    "userId[$lt]=9&userId[$gt]=-9": [1, 2],
    "userId[$between][]=2&userId[$between][]=9": [],
    "userId[$null]=true": [],
    "userId[$not]=1": [],
    "userId[$not]=2": [1, 2],
    "userId[$not][$in][]=1": [],
    "userId[$not][$not]=2": [],
    "userId[$ne]=1&userId[$eq]=2": [],
    "userId%5B%24ne%5D=1": [],
    "[userId]=2": [],
    "$not[userId]=1": [],
    "$not[userId]=2": [1, 2],
    "$not[$not][userId]=2": [],
    "$nor[0][userId]=1": [],
    "$nor[0][userId]=2": [1, 2],
    "$and[0][userId]=2": [],
    "$and[0][$or][0][userId]=1&$and[0][$or][1][userId]=2": [1, 2],
    "$or[0][userId]=2": [],
    "$or[][userId]=2": [],
    "$or[0][userId]=1&$or[1][userId]=2": [1, 2],
    "$or[0][text]=bob's": [],
    "$or[0][userId]=2&$or[1][rank]=2": [2],
    "userId=2&$or[0][userId]=2": [],
    "$or[0][userId]=2&userId=2": [],
    "userId=1&$or[0][userId]=2": [],
    "userId=1&$or[0][userId]=2&$or[1][rank]=2": [2],
    "$or[0][userId]=1&$or[0][rank]=1&userId[$ne]=2": [1],
    "$or[0][$or][0][$or][0][userId]=2": [],
    "$or[99][userId]=2": [],
    "&".join(f"$or[{place}][userId]=2" for place in range(25)): [],
    "&".join(f"userId[]={number}" for number in range(25)): [1, 2],
    "&".join(f"userId[$in][{n}]={n + 2}" for n in range(25)): [],
    "$or[0][userId]=2&$or[0][userId]=1": [1, 2],
    "$sort[userId]=-1": [1, 2],
    "$sort[rank]=-1&$sort[userId]=-1": [2, 1],
    "$skip=1": [2],
    "$limit=1": [1],
    "$limit=0": [],
    "$limit=0&userId=2": [],
    "$select[]=text": [1, 2],
    "$select[]=text&userId[$ne]=1": [],
}
"""The ids of the notes that Ann finds, by query."""

WRONG = [
    "userId=2&userId[$ne]=2",
    "$nor[]=",
    "$or=",
    "$or[]=",
    "$or[0]=",
    "$or[0]=2",
    "$or=2&$or[0][userId]=2",
    "$or[0][userId]=2&$or=2",
    "$or[userId]=2",
    "$or[0][$limit]=9",
    "$or[0][$select]=text",
    "$or[0][$foo]=1",
    "$or[0][__proto__][userId]=2",
    "__proto__[userId]=2",
    "__proto__=2",
    "constructor[prototype][userId]=2",
    "userId[__proto__]=2",
    "userId[constructor]=2",
    "userId[userId]=2",
    "userId[$foo]=2",
    "userId[$in][$ne]=1",
    "userId[$in][0][$ne]=1",
    "userId[0][$ne]=1",
    "userId[$or][0]=2",
    "userId=2 OR 1=1",
    "userId=2%00",
    "userId%00=2",
    "USERID=2",
    "user_id=2",
    "user=2",
    "user.id=2",
    "user[id]=2",
    "notes.userId=2",
    "$where=1",
    "$expr=1",
    "$limit=-1",
    "$limit[$gt]=0",
]

PASSWORD_QUERIES = {
    "/users": [
        *("password", "password=", "password=x", "password[]=", "password[$gt]="),
        *("password[$ne]=", "password[$in][]=x", "password[$like]=$argon2%25"),
        *("password[$regex]=a", "password[$search]=a", "password[$null]=false"),
        *("password[$not]=x", "password[$not][$gt]=", "password[$between][]=a"),
        *("$sort[password]=1", "$select[]=password", "$select=password"),
        *("$select[]=email&$select[]=password", "$limit=0&$sort[password]=-1"),
        *("$limit=0&password[$gt]=", "$limit=0&$select=password"),
        *("$or[0][password][$gt]=", "$or[0][id]=1&$or[1][password]=x"),
        *("$or[0][$or][0][password]=x", "$and[0][password][$gt]="),
        *("$nor[0][password]=x", "$not[password]=x", "$not[$or][0][password]=x"),
        *("id=1&password[$gt]=", "id=2&$or[0][id]=2&$or[1][password]=x"),
        *("$populate=password", "$populate[]=notes&password[$gt]="),
        *("$populate[]=notes&$select[]=password", "notes.user.password[$gt]="),
    ],
    "/notes": [
        *("password[$gt]=", "user.password=x", "user.password[$gt]="),
        *("user[password]=x", "user[password][$gt]=", "$or[0][user][password]=x"),
        *("$or[0][user.password][$gt]=", "$sort[user.password]=1"),
        *("$sort[user][password]=1", "$select[]=user.password"),
        *("$select[user][]=password", "$populate=user.password"),
        *("$populate[user]=password", "$populate[user][password]=1"),
        *("$populate=password", "$populate[]=user&$populate[]=user.password"),
        *("$populate[]=user&password[$gt]=", "$populate[]=user&$sort[password]=1"),
        *("$populate[]=user&user.password[$gt]=", "$populate[]=user&user[password]=x"),
        *("$populate[]=user&$sort[user.password]=1",),
        *("$populate[]=user&$select[]=user&$select[]=user.password",),
        *("$populate[0][path]=user&$populate[0][select]=password",),
    ],
}


def make_records(users=None, notes=None, *, public=False, own=None):
    """An extension whose notes belong to users.

    :param users: Options of their service.
    :param notes: Options of what serves them.
    :param public: Whether the service of the notes is.
    :param own: Strategies of the application.
    """
    records = FlaskRecords(app_errors=True)
    records.add("authentication", AuthenticationService(strategies=own))
    records.add("staff", AuthenticationService(settings="STAFF"))
    options = {"multi": True, "whitelist": WHITELIST}
    service = SQLAlchemyService(Person, hidden=["password"], **options)
    added = records.add("users", service, **(users or {}), public=["create"])
    added.before("create", "update", "patch")(hash_password())
    added.before("update", "patch", "remove")(limit_to_user("id"))
    pages = {"default": 10}
    service = SQLAlchemyService(Note, paginate=pages, **options, **(notes or {}))
    added = records.add("notes", service, public=public)
    added.before("create", "update", "patch")(set_user_field("userId"))
    added.before("find", "get", "update", "patch", "remove")(limit_to_user("userId"))
    return records


@contextmanager
def served(records, url="sqlite://"):
    """A client of an application with the users Ann and Bob."""
    staff = {"secret": "t" * 32, "passwords": CHEAP}

    with serving(records, url=url, base=Base, STAFF=staff) as client:
        client.post("/users", json=BOB)
        yield client


once = pytest.mark.parametrize("module_url", ["sqlite"], indirect=True)
"""Where no database has a say, one is enough."""


@pytest.fixture(scope="module")
def served_client(module_url):
    with served(make_records(), module_url) as client:
        yield client


@pytest.fixture
def client(served_client):
    """A client of the application, whose notes and users are those of every test."""
    with session_of(served_client) as session:
        session.execute(sa.delete(Note))
        session.execute(sa.delete(Person).where(Person.id > 2))
        session.execute(sa.insert(Note), NOTES)
        session.commit()

    return served_client


@pytest.fixture(scope="module")
def ann(served_client):
    return bearer(log_in(served_client))


@pytest.fixture(scope="module")
def bob(served_client):
    login = {"strategy": "local", **BOB}
    answer = served_client.post("/authentication", json=login)
    return bearer(answer.json["accessToken"])


@pytest.fixture
def notes(client):
    """A function that returns the notes that the database has."""
    return lambda: rows_of(client, Note)


def engine_of(client):
    with client.application.app_context():
        return client.application.extensions["sqlalchemy"].engine


def session_of(client):
    return Session(engine_of(client))


def rows_of(client, model):
    names = sa.inspect(model).columns.keys()
    statement = sa.select(*(getattr(model, name) for name in names))

    with session_of(client) as session:
        rows = session.execute(statement.order_by(model.id))
        return [dict(zip(names, row, strict=True)) for row in rows]


def records_of(response):
    """The records of an answer of any kind."""
    body = response.json

    if isinstance(body, dict):
        return body["data"] if "data" in body else [body]

    return body


def ids_of(response):
    return [record["id"] for record in records_of(response)]


def calls_of(path, data):
    """A call of each kind: the verb, the path and the data. The record is Ann's."""
    return [
        ("GET", path, None),
        ("GET", f"{path}/1", None),
        ("POST", path, data),
        ("PUT", f"{path}/1", data),
        ("PATCH", f"{path}/1", data),
        ("PATCH", path, data),
        ("DELETE", f"{path}/1", None),
        ("DELETE", path, None),
    ]


@pytest.mark.parametrize(("query", "found"), FOUND.items())
def test_find_finds_own_records(client, ann, query, found):
    response = client.get(f"/notes?{query}", headers=ann)

    assert (response.status_code, ids_of(response)) == (200, found)


@pytest.mark.parametrize(("query", "found"), FOUND.items())
def test_patch_of_many_changes_own_records(client, ann, notes, query, found):
    response = client.patch(f"/notes?{query}", json=TEXT, headers=ann)

    changed = [note["id"] for note in notes() if note["text"] == "changed"]
    assert (response.status_code, ids_of(response)) == (200, found)
    assert changed == sorted(found)


@pytest.mark.parametrize(("query", "found"), FOUND.items())
def test_remove_of_many_removes_own_records(client, ann, notes, query, found):
    response = client.delete(f"/notes?{query}", headers=ann)

    assert (response.status_code, ids_of(response)) == (200, found)
    assert notes() == [note for note in NOTES if note["id"] not in found]


@pytest.mark.parametrize("query", FOUND)
def test_records_of_others_are_not_there(client, ann, notes, query):
    statuses = {
        client.open(f"{path}?{query}", method=verb, json=data, headers=ann).status_code
        for path in ("/notes/3", "/notes/5")
        for verb, data in BY_ID
    }

    assert (statuses, notes()) == ({404}, NOTES)


@once
@pytest.mark.parametrize("query", WRONG)
def test_query_that_is_not_understood_does_nothing(client, ann, notes, query):
    statuses = {
        client.open(f"{path}?{query}", method=verb, json=data, headers=ann).status_code
        for verb, path, data in calls_of("/notes", TEXT)
    }

    assert (statuses, notes()) == ({400}, NOTES)


@once
def test_answer_for_a_record_of_somebody_else_is_that_for_none(client, ann):
    theirs, nobodys = (client.get(f"/notes/{id}", headers=ann).json for id in (3, 99))

    assert theirs["message"] == "No record found for id '3'"
    assert {**nobodys, "message": theirs["message"]} == theirs


@pytest.mark.parametrize(
    "id",
    [
        *("null", "undefined", "None", "NaN", "0", "-1", "*", "%25", "3,1", "3.0"),
        *("03", "3 OR 1=1", "%203", "3%20", "3%00", "[3]", "$ne", "%5B%24gt%5D=0"),
    ],
)
def test_id_of_no_own_record_is_not_an_id_of_many(client, ann, notes, id):
    statuses = {
        client.open(f"/notes/{id}", method=verb, json=data, headers=ann).status_code
        for verb, data in BY_ID
    }

    assert (statuses, notes()) == ({404}, NOTES)


def test_condition_on_the_owner_keeps_a_long_query_in_proportion(client, ann):
    owners = [f"userId[{n}]={n + 1}" for n in range(490)]
    query = "&".join([*owners, *(f"$or[{n}][rank]={n}" for n in range(49))])

    with counted(engine_of(client)) as statements:
        response = client.get(f"/notes?{query}", headers=ann)

    assert (response.status_code, ids_of(response)) == (200, [1, 2])
    assert max(map(len, statements)) < 5 * len(query)


def test_page_counts_own_records(client, ann, bob):
    pages = [client.get("/notes?$limit=0", headers=who).json for who in (ann, bob)]

    assert pages == [{"total": 2, "limit": 0, "skip": 0, "data": []}] * 2


def test_each_user_finds_his_own_records(client, ann, bob):
    found = [records_of(client.get("/notes", headers=who)) for who in (ann, bob)]

    assert found == [NOTES[:2], NOTES[2:4]]


@once
@pytest.mark.parametrize(("verb", "path", "data"), calls_of("/notes", TEXT))
def test_stranger_reaches_nothing(client, notes, verb, path, data):
    response = client.open(path, method=verb, json=data)

    assert (response.status_code, notes()) == (401, NOTES)


@pytest.mark.parametrize("query", ["", "?userId=2", "?$or[0][userId]=2"])
@pytest.mark.parametrize("body", ["json", "data"])
@pytest.mark.parametrize(
    "owner", [{}, {"userId": 2}, {"userId": ""}, {"userId": [2, 1]}]
)
def test_created_record_is_the_callers(client, ann, notes, query, body, owner):
    response = client.post(
        f"/notes{query}", headers=ann, **{body: {"text": "new", **owner}}
    )

    assert response.status_code == 201
    assert [note["userId"] for note in notes() if note["text"] == "new"] == [1]


def test_created_records_are_the_callers(client, ann, notes):
    owners = [{"userId": 2}, {"userId": None}, {}, {"userId": {"$ne": 1}}]

    client.post("/notes", json=[{"text": "new", **one} for one in owners], headers=ann)

    assert [note["userId"] for note in notes() if note["text"] == "new"] == [1] * 4


def test_create_does_not_replace_a_record_of_somebody_else(client, ann, notes):
    response = client.post("/notes", json={"id": 3, "text": "mine"}, headers=ann)

    assert (response.status_code, notes()) == (409, NOTES)


@pytest.mark.parametrize("owner", [2, None, "2", [2], {"$ne": 1}, 99])
@pytest.mark.parametrize(
    ("verb", "path", "changed"),
    [
        ("PUT", "/notes/1", [1]),
        ("PATCH", "/notes/1", [1]),
        ("PATCH", "/notes", [1, 2]),
        ("PATCH", "/notes?userId=2", []),
        ("PATCH", "/notes/3", []),
        ("PUT", "/notes/3", []),
    ],
)
def test_record_is_neither_given_away_nor_taken(
    client, ann, notes, owner, verb, path, changed
):
    data = {"text": "changed", "userId": owner}

    client.open(path, method=verb, json=data, headers=ann)

    assert [note["id"] for note in notes() if note["text"] == "changed"] == changed
    assert [note["userId"] for note in notes()] == [1, 1, 2, 2, None]


@once
@pytest.mark.parametrize(
    "data",
    [
        *({"user_id": 2}, {"USERID": 2}, {"user": 2}, {"user": {"id": 2}}),
        *({"userId ": 2}, {"userId[]": 2}, {"$set": {"userId": 2}}),
        *({"__proto__": {"userId": 2}}, {"__dict__": {"userId": 2}}),
        *([{"userId": 2}], [[{"userId": 2}]], "userId", 2, None),
    ],
)
@pytest.mark.parametrize(
    ("verb", "path"), [("PUT", "/notes/1"), ("PATCH", "/notes/1"), ("PATCH", "/notes")]
)
def test_body_that_is_not_understood_changes_nothing(
    client, ann, notes, verb, path, data
):
    if isinstance(data, dict):
        data = {"text": "changed", **data}

    response = client.open(path, method=verb, json=data, headers=ann)

    assert (response.status_code, notes()) == (400, NOTES)


@pytest.mark.parametrize(
    ("path", "populated"),
    [
        ("/users?$sort[id]=1", {1: NOTES[:2], 2: []}),
        ("/users?$sort[id]=1&$select[]=email", {1: NOTES[:2], 2: []}),
        ("/users?$sort[id]=-1&$limit=1", {2: []}),
        ("/users/1?", {1: NOTES[:2]}),
        ("/users/2?", {2: []}),
    ],
)
def test_populated_records_are_own_ones(client, ann, path, populated):
    response = client.get(f"{path}&$populate=notes", headers=ann)

    found = {user["id"]: user["notes"] for user in records_of(response)}
    assert found == populated


@pytest.mark.parametrize("path", ["/users/1", "/users"])
def test_populated_records_of_a_changed_user_are_own_ones(client, ann, path):
    response = client.patch(f"{path}?$populate=notes", json={}, headers=ann)

    user = {"id": 1, "email": ANN["email"], "notes": NOTES[:2]}
    assert records_of(response) == [user]


@once
def test_stranger_who_registers_populates_nothing(client):
    before = rows_of(client, Person)

    response = client.post("/users?$populate=notes", json=EVE)

    assert (response.status_code, rows_of(client, Person)) == (401, before)


@pytest.mark.parametrize(("verb", "path", "data"), calls_of("/notes", TEXT))
def test_populated_user_has_no_hidden_field(client, ann, verb, path, data):
    response = client.open(
        f"{path}?$populate=user", method=verb, json=data, headers=ann
    )

    users = [note["user"] for note in records_of(response)]
    assert users == [{"id": 1, "email": ANN["email"]}] * (len(users) or 1)


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("accepted", ["api-key", "staff"])
def test_populating_needs_what_the_other_service_needs(accepted, public):
    """What lets a caller in here does not let him in there."""
    options = {
        "api-key": {"strategies": ["jwt", "api-key"]},
        "staff": {"authentication": "staff"},
    }
    key = Strategy(lambda service, data, params: {"user": service.get_user(1)}, key_in)
    records = make_records(options[accepted], public=public, own={"api-key": key})

    with served(records) as client:
        token = log_in(client, "/staff")
        who = {"api-key": {"X-Api-Key": "Ann's"}, "staff": bearer(token)}[accepted]
        paths = "/users", "/notes", "/users?$populate=notes"

        statuses = [client.get(path, headers=who).status_code for path in paths]

    assert statuses == [200, 401, 401]


@pytest.mark.parametrize(
    ("options", "note"),
    [
        ({"hidden": ["userId"]}, {"id": 1, "text": "new", "rank": None}),
        (
            {"readonly": ["userId"]},
            {"id": 1, "text": "new", "rank": None, "userId": 1},
        ),
    ],
)
def test_field_of_the_owner_may_be_hidden_or_readonly(options, note):
    with served(make_records(notes=options)) as client:
        ann = bearer(log_in(client))

        created = client.post("/notes", json={"id": 1, "text": "new"}, headers=ann)
        found = client.get("/notes", headers=ann)

    assert (created.status_code, created.json) == (201, note)
    assert (found.status_code, found.json["data"]) == (200, [note])


def test_other_users_are_not_changed(client, ann):
    before = rows_of(client, Person)
    calls = [("PUT", "/2", EVE), ("PATCH", "/2", EVE), ("DELETE", "/2", None)]
    many = [("PATCH", "?id=2", EVE), ("DELETE", "?id=2", None)]

    answers = [
        client.open(f"/users{path}", method=verb, json=data, headers=ann)
        for verb, path, data in calls + many
    ]

    assert [answer.status_code for answer in answers] == [404, 404, 404, 200, 200]
    assert [answer.json for answer in answers[3:]] == [[], []]
    assert rows_of(client, Person) == before


@once
@pytest.mark.parametrize(
    ("path", "query"),
    [(path, query) for path, queries in PASSWORD_QUERIES.items() for query in queries],
)
def test_hidden_field_is_asked_for_like_one_that_is_not_there(client, ann, path, query):
    before = rows_of(client, Person), rows_of(client, Note)
    data = EVE if path == "/users" else TEXT

    for verb, place, body in calls_of(path, data):
        answers = [
            client.open(f"{place}?{each}", method=verb, json=body, headers=ann)
            for each in (query, query.replace("password", "nothing"))
        ]
        hidden, unknown = [(one.status_code, one.text) for one in answers]
        assert hidden == (400, unknown[1].replace("nothing", "password"))

    assert (rows_of(client, Person), rows_of(client, Note)) == before


@once
def test_answers_have_no_password(client, ann):
    registered = client.post("/users", json=EVE)
    conflict = client.post("/users", json=EVE)
    changed = client.patch("/users/1", json={"password": ANN["password"]}, headers=ann)

    assert registered.json == {"id": registered.json["id"], "email": EVE["email"]}
    assert (conflict.status_code, list(conflict.json["errors"])) == (409, ["email"])
    assert changed.json == {"id": 1, "email": ANN["email"]}
