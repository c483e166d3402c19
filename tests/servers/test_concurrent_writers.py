"""Each record is removed by one of many writers that work at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from flask_records import FlaskRecords, Params, SQLAlchemyService

from ..databases import served

WRITERS, CALLS, PARTS = 6, 12, 5


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
