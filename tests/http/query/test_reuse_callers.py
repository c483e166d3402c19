"""Callers share statements, and each gets their own records and fields."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, restrict, SQLAlchemyService, Transaction

from ...databases import served

THREADS = 4


class NoteBase(DeclarativeBase):
    __table_args__ = {"mysql_collate": "utf8mb4_bin", "mariadb_collate": "utf8mb4_bin"}


class Note(NoteBase):
    __tablename__ = "reuse_note"

    id: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[int]
    text: Mapped[str] = mapped_column(sa.String(20))
    secret: Mapped[str] = mapped_column(sa.String(20))


NOTES = [
    {"id": n, "owner": n % THREADS, "text": f"text {n}", "secret": f"secret {n % 3}"}
    for n in range(1, 13)
]


@pytest.fixture
def notes_app(tmp_path):
    """An app of notes with a hidden field, without a hook."""
    db, records = SQLAlchemy(model_class=NoteBase), FlaskRecords()
    service = SQLAlchemyService(Note, hidden=["secret"], paginate={"default": 2})
    notes = records.add("notes", service, public=True)

    with served(db, records, f"sqlite:///{tmp_path / 'test.db'}") as app:
        with app.app_context(), Transaction():
            for note in NOTES:
                notes.create(dict(note))

        yield app


TRUSTED = [
    {"secret": "secret 1"},
    {"$or": [{"secret": ["secret 1"]}, {"owner": 1}], "$sort": {"secret": -1}},
]
URLS = [
    *("secret=secret 1", "secret[]=secret 1", "secret[$ne]=", "$select=secret"),
    *("$or[0][secret][]=secret 1&$or[1][owner]=1", "$sort[secret]=-1"),
]


@pytest.mark.parametrize("trusted", TRUSTED)
def test_a_hidden_field_stays_refused_after_a_condition_of_the_application(
    notes_app, trusted
):
    client = notes_app.test_client()

    @notes_app.extensions["records"]["notes"].before()
    def condition(method, context):
        if "X-Restrict" in context.params.headers:
            restrict(context.params, trusted)

    for path in ("/notes", "/notes/1"):
        allowed = client.get(path, headers={"X-Restrict": "1"})
        refused = [client.get(f"{path}?{url}") for url in URLS]

        assert allowed.status_code in (200, 404)
        assert b"secret" not in allowed.data
        assert {response.status_code for response in refused} == {400}
        assert {response.json["message"] for response in refused} == {
            "'secret' is not a field."
        }


def owned_ids(client, owner, url=""):
    headers = {"X-Owner": str(owner)}
    data = client.get(f"/notes?$limit=20&{url}", headers=headers).json["data"]
    return [note["id"] for note in data]


@pytest.fixture
def owners_app(notes_app):
    """The same, where each user reaches their own notes."""

    @notes_app.extensions["records"]["notes"].before()
    def own(method, context):
        owner = int(context.params.headers["X-Owner"])
        restrict(context.params, {"owner": owner})

    return notes_app


@pytest.mark.parametrize("url", ["", "id[$gt]=0", "owner[$gte]=0", "$sort[text]=1"])
def test_each_user_gets_their_own_by_the_same_statement(owners_app, url):
    client = owners_app.test_client()
    own = {
        owner: {note["id"] for note in NOTES if note["owner"] == owner}
        for owner in range(THREADS)
    }

    for owner in (*own, *own):
        assert set(owned_ids(client, owner, url)) == own[owner]
