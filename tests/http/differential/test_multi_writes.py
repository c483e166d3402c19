"""A write of many takes the records that a find with the same query sees."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.orm import Mapped
from sqlalchemy.orm import mapped_column

from flask_records import FlaskRecords
from flask_records import Params
from flask_records import SQLAlchemyService

from ...databases import served
from .queries import NoText
from .queries import queries
from .queries import query_string

WRITERS, CALLS, PARTS = 6, 12, 5


def found(world, query):
    """Return the identifiers that a query finds, with its limit but without pages."""
    skip, limit = query.get("$skip", 0), query.get("$limit")
    records = world.oracle.find(query)[skip:]
    return [record["id"] for record in records[:limit]]


def written(world, method, query):
    """Write many records, over HTTP if the query has a text, and return the answer."""
    body = {"rank": 77} if method == "patch" else None

    with suppress(NoText):
        path = f"/things?{query_string(query)}"
        answer = getattr(world.client, method)(path, json=body)
        assert answer.status_code == 200, (path, answer.json)
        return answer.json

    with world.app.app_context():
        params = Params(query)

        if method == "patch":
            return world.service.patch(None, body, params)

        return world.service.remove(None, params)


def test_any_patch(world, examples):
    def check(query):
        world.restore()
        before, ids = world.rows(), found(world, query)

        answer = written(world, "patch", query)

        after = world.rows()
        patched = {id: {**before[id], "rank": 77} for id in ids}
        assert [record["id"] for record in answer] == ids
        assert after == {**before, **patched}

    examples.check(check, queries, 20)
    world.restore()


def test_any_removal(world, examples):
    def check(query):
        world.restore()
        before, ids = world.rows(), found(world, query)

        answer = written(world, "delete", query)

        assert [record["id"] for record in answer] == ids
        assert world.rows() == {id: before[id] for id in before if id not in ids}

    examples.check(check, queries, 20)
    world.restore()


class Base(DeclarativeBase):
    pass


class Job(Base):
    __tablename__ = "different_job"

    id: Mapped[int] = mapped_column(primary_key=True)
    part: Mapped[int]
    writer: Mapped[int | None]


@pytest.fixture
def jobs(database_url):
    """An app with jobs that writers take at the same time."""
    records = FlaskRecords(app_errors=True)
    service = SQLAlchemyService(Job, multi=True)
    jobs = records.add("jobs", service, public=True)

    @jobs.before("patch", "remove")
    def look(method, context):
        """The transaction has read before it writes."""
        jobs.find(Params({"part": 0, "$limit": 1}))

    with served(SQLAlchemy(model_class=Base), records, database_url) as app:
        yield app


def work(app, writer):
    """Create jobs, and write those of all writers. Return the identifiers of those that
    were created, and of those that were removed.
    """
    client = app.test_client()
    created, removed = [], []

    for number in range(CALLS):
        part, others = (number + writer) % PARTS, (number + writer + 1) % PARTS
        bodies = [{"part": each} for each in range(PARTS)]
        created += answered(client.post("/jobs", json=bodies))
        patched = answered(client.patch(f"/jobs?part={part}", json={"writer": writer}))
        # The newest ones, which a transaction that has begun may not see.
        newest = f"/jobs?part={others}&$sort[id]=-1&$limit=3"
        removed += answered(client.delete(newest))

        assert {(each["part"], each["writer"]) for each in patched} <= {(part, writer)}

    return [each["id"] for each in created], [each["id"] for each in removed]


def answered(answer):
    """Return the records of an answer, or none if the database is busy."""
    assert answer.status_code in (200, 201, 503), answer.json
    return answer.json if answer.status_code < 300 else []


def test_each_record_is_removed_by_one_of_many_writers(jobs):
    with ThreadPoolExecutor(WRITERS) as pool:
        lists = [*pool.map(lambda writer: work(jobs, writer), range(WRITERS))]

    created = [id for ids, _ in lists for id in ids]
    removed = [id for _, ids in lists for id in ids]
    left = [record["id"] for record in jobs.test_client().get("/jobs").json]
    assert removed and sorted([*removed, *left]) == sorted(created)
