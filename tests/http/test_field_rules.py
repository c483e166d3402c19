"""Fields that users see and write by rules."""

from __future__ import annotations

from contextlib import contextmanager, ExitStack

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from flask_records import FlaskRecords, FromUser, Params, SQLAlchemyService

from ..authentication import add_users, SECRET
from ..databases import served

ADMIN = {"id": 9, "role": "admin"}
ANN = {"id": 1, "role": "user"}
BOB = {"id": 2, "role": "user"}


def by_admins(user):
    return user is not None and user["role"] == "admin"


def own(user):
    """All records for admins, their own for users, none for others."""
    if by_admins(user):
        return True

    return user and {"owner": user["id"]}


class Site:
    """Notes of users, and a client that calls as any of them."""

    def __init__(self, app, notes):
        self.app = app
        self.notes = notes
        self.client = app.test_client()

    def call(self, user, verb, address="", path="/notes", **body):
        """The answer to a request of a user."""
        path = f"{path}{address}"
        headers = {"X-User": str(user["id"])} if user else {}
        return self.client.open(path, method=verb, headers=headers, **body)


@contextmanager
def sites(url, **options):
    class Base(DeclarativeBase):
        pass

    class Note(Base):
        __tablename__ = "note"

        id: Mapped[int] = mapped_column(primary_key=True)
        text: Mapped[str] = mapped_column(sa.String(50))
        owner: Mapped[int | None]
        secret: Mapped[str | None] = mapped_column(sa.String(50))
        price: Mapped[int | None]
        folder: Mapped[int | None] = mapped_column(sa.ForeignKey("folder.id"))

    class Folder(Base):
        __tablename__ = "folder"

        id: Mapped[int] = mapped_column(primary_key=True)
        notes = relationship(Note)

    records = FlaskRecords()
    readable = options.pop("readable", None)
    whitelist = ["$populate", "$search", "$and", "$nor", "$like"]
    service = SQLAlchemyService(
        Note, multi=True, paginate={"default": 9}, whitelist=whitelist, **options
    )
    access = {"public": True, "strategies": ["header"]}
    notes = records.add("notes", service, readable=readable, **access)
    folders = SQLAlchemyService(Folder, whitelist=["$populate"])
    records.add("folders", folders, **access)
    add_users(records, ADMIN, ANN, BOB)
    db = SQLAlchemy(model_class=Base)

    with served(db, records, url, SECRET_KEY=SECRET) as app, app.app_context():
        records["folders"].create({})
        notes.create(
            [
                {"text": "A", "owner": 1, "secret": "s1", "price": 5, "folder": 1},
                {"text": "B", "owner": 2, "secret": "s2", "price": 6, "folder": 1},
                {"text": "C", "secret": "s3", "folder": 1},
            ]
        )
        yield Site(app, notes)


@pytest.fixture
def open_site(database_url):
    """A function that opens a site with options of its service."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(sites(database_url, **options))


def secrets_in(answer):
    data = answer.json
    data = data["data"] if isinstance(data, dict) and "data" in data else data
    data = data if isinstance(data, list) else [data]
    return [record.get("secret") for record in data]


@pytest.mark.parametrize("address", ["/1", "?id=1", "?$sort[id]=1&$limit=1"])
def test_field_is_shown_in_records_that_meet_the_rule(open_site, address):
    site = open_site(visible={"secret": own})

    answers = [site.call(user, "get", address) for user in (ADMIN, ANN, BOB, None)]

    assert [secrets_in(answer) for answer in answers] == [["s1"]] * 2 + [[None]] * 2
    assert ["secret" in answer.text for answer in answers] == [True] * 2 + [False] * 2


@pytest.mark.parametrize("address", ["/1", "?id=1"])
def test_cache_of_results_shows_each_viewer_its_own_fields(open_site, address):
    site, cache = open_site(visible={"secret": own}), {}

    @site.notes.before("get", "find")
    def take(method, context):
        if method in cache:
            context.result = cache[method]

    @site.notes.after("get", "find")
    def put(method, context):
        cache.setdefault(method, context.result)

    users = [BOB, ADMIN, None, ANN, BOB]
    answers = [site.call(user, "get", address) for user in users]

    seen = ["s1" in answer.text for answer in answers]
    assert seen == [False, True, False, True, False]


def test_cache_of_what_a_caller_may_see_shows_others_no_more(open_site):
    site, cache = open_site(visible={"secret": own}), {}
    folders = site.app.extensions["records"]["folders"]

    @folders.before("find")
    def take(method, context):
        if not cache:
            cache["notes"] = site.notes.as_caller(context.params).get(1)

        context.result = [{"id": 1, "note": cache["notes"]}]

    users = [ADMIN, BOB, None, ANN, ADMIN]
    answers = [site.call(user, "get", path="/folders") for user in users]

    seen = ["s1" in answer.text for answer in answers]
    assert seen == [True, False, False, True, True]


@pytest.mark.parametrize(("verb", "body"), [("get", None), ("patch", {"text": "N"})])
def test_field_is_selected_where_it_is_shown(open_site, verb, body):
    site = open_site(visible={"secret": own})

    def answer(user):
        return site.call(user, verb, "/1?$select=secret", json=body)

    assert answer(ANN).json == {"id": 1, "secret": "s1"}
    assert answer(BOB).json == {"id": 1}
    assert answer(None).json["errors"] == {"secret": "is not a field"}


def test_each_record_of_a_page_has_what_its_caller_sees(open_site):
    site = open_site(visible={"secret": own, "price": own, "text": by_admins})

    answers = {who: site.call(user, "get") for who, user in USERS.items()}

    # Calls in Python see all.
    assert answers["admin"].json["data"] == site.notes.find().data
    assert answers["ann"].json == {
        "total": 3,
        "limit": 9,
        "skip": 0,
        "data": [
            {"id": 1, "owner": 1, "secret": "s1", "price": 5, "folder": 1},
            {"id": 2, "owner": 2, "folder": 1},
            {"id": 3, "owner": None, "folder": 1},
        ],
    }
    assert secrets_in(answers["nobody"]) == [None, None, None]


USERS = {"admin": ADMIN, "ann": ANN, "nobody": None}

WRITES = [
    ("post", "", {"text": "N", "owner": 1, "secret": "s1"}),
    ("patch", "/1", {"text": "N"}),
    ("put", "/1", {"text": "N", "owner": 1, "folder": 1}),
    ("patch", "?id=1", {"text": "N"}),
    ("delete", "/1", None),
    ("delete", "?id=1", None),
]


@pytest.mark.parametrize(("verb", "address", "body"), WRITES)
@pytest.mark.parametrize(("user", "shown"), [(ADMIN, "s1"), (ANN, "s1"), (BOB, None)])
def test_answers_of_writes_show_what_reads_show(
    open_site, verb, address, body, user, shown
):
    site = open_site(visible={"secret": own})

    answer = site.call(user, verb, address, json=body)

    # A rule by record keeps the field, whoever replaces the rest of the record.
    shown = None if verb == "put" and user is ADMIN else shown
    assert answer.status_code == (201 if verb == "post" else 200)
    assert secrets_in(answer) == [shown]


def test_update_keeps_fields_that_the_caller_may_not_see(open_site):
    site = open_site(visible={"secret": own, "price": by_admins})

    answer = site.call(BOB, "put", "/1", json={"text": "N", "owner": 1})

    assert answer.status_code == 200
    assert site.notes.get(1) == {
        "id": 1,
        "text": "N",
        "owner": 1,
        "secret": "s1",
        "price": 5,
        "folder": None,
    }


LEAKS = [
    "secret=s2",
    "secret[$ne]=s2",
    "secret[$gt]=a",
    "secret[$in][]=s2",
    "secret[$like]=s%25",
    "secret[$search]=s2",
    "$or[0][secret]=s2",
    "$or[0][secret]=s2&$or[1][owner]=1",
    "$nor[0][secret]=s2",
    "$and[0][secret]=s2",
    "$and[0][$or][0][secret][$like]=s%25",
    "owner=2&secret=s2",
    "$or[0][owner]=1&secret=s2",
    "owner[$in][]=1&owner[$in][]=2&secret=s2",
    "owner[$ne]=1&secret=s2",
    "$limit=0&secret=s2",
]


@pytest.mark.parametrize(("verb", "id"), [("get", ""), ("patch", ""), ("get", "/2")])
def test_query_cannot_tell_what_a_rule_hides(open_site, verb, id):
    site = open_site(visible={"secret": own})
    body = {"json": {"text": "N"}} if verb == "patch" else {}

    def answers():
        found = [site.call(ANN, verb, f"{id}?{query}", **body) for query in LEAKS]
        return [answer.get_data(as_text=True) for answer in found]

    before = answers()
    site.notes.patch(None, {"secret": "other"}, Params(query={"owner": {"$ne": 1}}))

    assert answers() == before
    assert site.call(None, verb, f"{id}?{LEAKS[0]}", **body).json["errors"] == {
        "secret": "is not a field"
    }


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("secret=s1", ["A"]),
        ("secret=s2", []),
        ("secret[$ne]=s2", ["A"]),
        ("$nor[0][secret]=s1", ["B", "C"]),
        ("$or[0][secret]=s1&$or[1][owner]=2", ["A", "B"]),
    ],
)
def test_comparison_holds_where_the_field_is_visible(open_site, query, found):
    site = open_site(visible={"secret": own})

    answer = site.call(ANN, "get", f"?{query}")

    assert [note["text"] for note in answer.json["data"]] == found


def test_field_that_not_all_records_show_does_not_sort(open_site):
    site = open_site(visible={"secret": own})
    query = "?owner=1&$sort[secret]=-1"

    refused = site.call(ANN, "get", query)

    assert refused.json["errors"] == {
        "secret": "is not visible in every record, so that it can't be sorted by"
    }
    assert site.call(ADMIN, "get", query).json["total"] == 1


def test_relations_show_what_their_service_shows(open_site):
    site = open_site(visible={"secret": own})
    path = "/folders/1?$populate=notes"

    answer = site.client.get(path, headers={"X-User": "1"}).json

    assert [note.get("secret") for note in answer["notes"]] == ["s1", None, None]


@pytest.mark.parametrize(
    "options",
    [
        {"visible": {"secrt": own}},
        {"visible": {"secrt": True}},
        {"visible": {"id": own}},
        {"visible": {"secret": own}, "hidden": ["secret"]},
        {"writable": {"secrt": own}},
        {"writable": {"secret": own}, "readonly": ["secret"]},
        {"writable": {"id": own}},
    ],
)
def test_rules_that_can_have_no_effect_are_refused_at_the_start(options):
    with pytest.raises(ValueError, match="has a rule for '"):
        sites("sqlite://", **options).__enter__()


@pytest.mark.parametrize("option", ["visible", "writable"])
def test_query_of_a_field_that_does_not_exist_is_refused_at_the_start(option):
    with pytest.raises(
        ValueError, match=f"'secret' in '{option}' does not fit: 'ownr'"
    ):
        sites("sqlite://", **{option: {"secret": {"ownr": 1}}}).__enter__()


@pytest.mark.parametrize(
    ("option", "verb"), [("visible", "GET"), ("writable", "PATCH")]
)
def test_answer_with_a_field_that_does_not_exist_is_an_error_of_the_server(
    open_site, caplog, option, verb
):
    site = open_site(**{option: {"secret": lambda user: {"ownr": 1}}})

    answer = site.call(ANN, verb, "/1", json={"secret": "x"})

    assert answer.status_code == 500
    assert "'ownr' is not a field" in caplog.text


@pytest.mark.parametrize("verb", ["patch", "put"])
@pytest.mark.parametrize(
    ("user", "is_written"), [(ADMIN, True), (ANN, True), (BOB, False)]
)
def test_field_is_written_to_records_that_meet_the_rule(
    open_site, verb, user, is_written
):
    site = open_site(writable={"price": own})

    answer = site.call(user, verb, "/1", json={"text": "N", "owner": 1, "price": "7"})

    note = site.notes.get(1)
    assert answer.status_code == (200 if is_written else 400)
    assert (note["text"], note["price"]) == (("N", 7) if is_written else ("A", 5))

    if not is_written:
        assert answer.json["errors"] == {"price": "is read-only"}


@pytest.mark.parametrize("verb", ["post", "patch", "put"])
@pytest.mark.parametrize(("rule", "is_written"), [(False, False), (True, True)])
def test_constant_is_a_rule(open_site, verb, rule, is_written):
    site = open_site(writable={"price": rule})
    path = "" if verb == "post" else "/1"

    answer = site.call(ADMIN, verb, path, json={"text": "N", "owner": 1, "price": "7"})

    assert answer.status_code < 400 if is_written else answer.status_code == 400
    assert is_written or answer.json["errors"] == {"price": "is read-only"}


def test_rule_is_for_the_record_before_the_write(open_site):
    site = open_site(writable={"price": own})

    taken = site.call(BOB, "patch", "/1", json={"owner": 2, "price": 7})

    assert taken.status_code == 400
    assert site.notes.get(1)["owner"] == 1
    assert (
        site.call(ANN, "patch", "/1", json={"owner": 2, "price": 7}).json["price"] == 7
    )


@pytest.mark.parametrize(
    "options",
    [
        {"writable": {"secret": own}},
        {"writable": {"secret": by_admins}},
        {"write_once": ["secret"]},
        {"readonly": ["secret"]},
    ],
)
@pytest.mark.parametrize(("rule", "verb"), [(own, "patch"), (by_admins, "put")])
def test_values_that_are_not_visible_cannot_be_guessed(open_site, options, rule, verb):
    site = open_site(visible={"secret": rule}, **options)

    right, wrong = [
        site.call(BOB, verb, "/1", json={"text": "N", "owner": 1, "secret": guess})
        for guess in ("s1", "wrong")
    ]

    assert right.status_code == wrong.status_code == 400
    assert right.json == wrong.json


def test_field_is_written_to_all_of_many_records_or_none(open_site):
    site = open_site(writable={"price": own})

    refused = site.call(ANN, "patch", "", json={"price": 7})
    written = site.call(ANN, "patch", "?owner=1", json={"price": 7})

    assert refused.json["errors"] == {"price": "is read-only"}
    assert [note["price"] for note in written.json] == [7]
    assert [note["price"] for note in site.notes.find().data] == [7, 6, None]


def test_field_is_created_in_records_that_meet_the_rule(open_site):
    site = open_site(writable={"price": own})
    body = {"text": "N", "owner": 1, "price": 7}

    created = site.call(ANN, "post", json=body)
    refused = site.call(BOB, "post", json=body)
    many = site.call(ANN, "post", json=[body, {**body, "owner": 2}])

    assert created.json["price"] == 7
    assert refused.json["errors"] == {"price": "is read-only"}
    assert many.json["errors"] == {"1.price": "is read-only"}
    assert site.notes.find().total == 4


def test_hooks_write_without_regard_to_rules(open_site):
    site = open_site(writable={"price": lambda user: False})

    @site.notes.before("patch")
    def set_price(method, context):
        context.data["price"] = 8

    assert site.call(BOB, "patch", "/1", json={"text": "N"}).json["price"] == 8
    assert site.call(BOB, "patch", "/2", json={"price": 1}).status_code == 400


def test_rules_are_asked_once_for_each_call(open_site):
    asked = []

    def rule(user):
        asked.append(user)
        return own(user)

    site = open_site(visible={"secret": rule})

    site.call(ANN, "patch", "/1", json={"text": "N"})

    assert asked == [ANN]


@pytest.mark.parametrize(
    ("answer", "ids"), [(True, [1, 2, 3]), (False, []), (None, []), ({"owner": 1}, [1])]
)
def test_readable_answers_for_all_none_or_those_that_match(open_site, answer, ids):
    site = open_site(readable=lambda user: answer)

    found = site.call(ANN, "GET").json["data"]

    assert [note["id"] for note in found] == ids
    assert site.call(ANN, "GET", "/3").status_code == (200 if 3 in ids else 404)
    assert site.call(ANN, "PATCH", "?$select=id", json={}).json == [
        {"id": id} for id in ids
    ]


@pytest.mark.parametrize(
    "answer",
    [
        *({}, [], "", ("owner", 1), sa.column("owner") == 1),
        *({"$and": []}, {"$or": [{"owner": 1}, {}]}, {"$and": [{"$nor": []}]}),
        *({"$limit": 1}, {"$or": [{"$select": ["owner"]}]}, {"$populate": ["user"]}),
    ],
    ids=str,
)
@pytest.mark.parametrize("option", ["readable", "visible", "writable"])
def test_any_other_answer_of_a_rule_shows_nothing(open_site, caplog, option, answer):
    options = {
        "readable": {"readable": lambda user: answer},
        "visible": {"visible": {"secret": lambda user: answer}},
        "writable": {"writable": {"price": lambda user: answer}},
    }
    site = open_site(**options[option])

    # A rule about writing is asked by a write.
    verb = "PATCH" if option == "writable" else "GET"
    response = site.call(ANN, verb, "/1", json={"price": 5})

    assert response.status_code == 500
    assert "s1" not in response.text
    assert f"'{option}'" in caplog.text
    assert "Return True for all records, False for none" in caplog.text


@pytest.mark.parametrize("query", [{}, {"$or": [{"owner": FromUser("id")}, {}]}])
@pytest.mark.parametrize("option", ["readable", "visible", "writable"])
def test_empty_query_as_a_rule_is_refused_at_the_start(option, query):
    options = {} if option == "readable" else {option: {"text": query}}
    readable = query if option == "readable" else None

    with pytest.raises(TypeError, match="Return True for all records"):
        service = SQLAlchemyService(type("Note", (), {}), **options)
        FlaskRecords().add("notes", service, readable=readable)
