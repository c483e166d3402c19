"""Recipes of the documentation that need servers, or change all models."""

import asyncio
import datetime as dt
import hashlib
import hmac
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
import sqlalchemy as sa
from flask import Flask, request

from ..databases import new_database, redis_url, url_in
from ..listening import running
from ..processes import ROOT
from ..waiting import wait_until
from .test_docs import blocks_of, disposed_engines, DOCS, module  # noqa: F401

APP = (DOCS / "app.py").read_text()


def section(page, heading):
    """The Python of a section that is not run with its page."""
    text = (DOCS / page).read_text()
    after = text[text.index(f"\n## {heading}\n") + 1 :].partition("\n## ")[0]
    [block] = [
        each for each in blocks_of(DOCS / page) if each.text in after and each.mark
    ]
    assert block.language == "python"
    return block.text


def test_one_of_many_bookings_wins(module):  # noqa: F811
    with new_database(url_in("TEST_POSTGRESQL_URL")) as url, disposed_engines():
        engine = sa.create_engine(url)

        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE EXTENSION btree_gist")

        exec(APP, module.__dict__)
        exec("from flask_records import SQLAlchemyService", module.__dict__)
        exec(section("business-recipes.md", "Availability"), module.__dict__)
        app = module.create_app(module.records, SQLALCHEMY_DATABASE_URI=url)
        start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        spans = [start + dt.timedelta(minutes=each) for each in range(24)]
        bodies = [
            {
                "roomId": 1,
                "startsAt": each.isoformat(),
                "endsAt": (each + dt.timedelta(hours=1)).isoformat(),
            }
            for each in spans
        ]

        with running(app) as base, ThreadPoolExecutor(24) as pool:
            url = f"{base}/bookings"
            answers = [*pool.map(lambda body: requests.post(url, json=body), bodies)]
            other = requests.post(url, json={**bodies[0], "roomId": 2})
            first = bodies[0]
            span = {"startsAt[$lt]": first["endsAt"], "endsAt[$gt]": first["startsAt"]}
            taken = requests.get(url, {"roomId": 1, **span})

        assert sorted(each.status_code for each in answers) == [201] + [409] * 23
        assert other.status_code == 201
        assert len(taken.json()) == 1
        engine.dispose()


def test_a_webhook_is_signed_and_sent_again(module, monkeypatch):  # noqa: F811
    pytest.importorskip("rq")
    from redis import Redis
    from rq import Queue, SimpleWorker

    received, receiver = [], Flask("receiver")

    @receiver.post("/hook")
    def hook():
        received.append((request.get_data(), request.headers["X-Signature"]))
        return "", 500 if len(received) == 1 else 200

    with disposed_engines(), running(receiver) as base:
        exec(APP, module.__dict__)
        exec(
            "from flask_records import SQLAlchemyService\n"
            "notes = records.add('notes', SQLAlchemyService(Note), public=True)",
            module.__dict__,
        )
        config = {
            "REDIS_URL": redis_url(),
            "WEBHOOK_URL": f"{base}/hook",
            "WEBHOOK_KEY": "k",
        }
        module.app.config.update(config)
        exec(section("integrations.md", "Webhooks"), module.__dict__)
        module.deliver.__module__ = "app"
        connection = Redis.from_url(redis_url())
        queue = Queue("webhooks", connection=connection)
        queue.empty()
        module.notes.create({"text": "Hello"})
        wait_until(lambda: queue.count)
        worker = SimpleWorker([queue], connection=connection)
        worker.work(burst=True)
        [job_id] = queue.scheduled_job_registry.get_job_ids()
        queue.scheduled_job_registry.remove(job_id)
        queue.enqueue_job(queue.fetch_job(job_id))
        worker.work(burst=True)
        connection.close()

    (first, signature), second = received
    assert second == (first, signature)
    assert b'"event": "notes created"' in first
    assert hmac.new(b"k", first, hashlib.sha256).hexdigest() == signature


VERSIONS = """
import sys, types
module = sys.modules["app"] = types.ModuleType("app")
exec(open({app!r}).read(), module.__dict__)
exec("import sqlalchemy as sa", module.__dict__)
exec("from flask_records import SQLAlchemyService", module.__dict__)
exec({code!r}, module.__dict__)
module.db.create_all()
service = module.records.client(module.app).service("pages")
page = service.create({{"text": "one"}})
service.patch(page["id"], {{"text": "two"}})
versions = module.records.client(module.app).service("page-versions").find()
assert [each["text"] for each in versions] == ["one", "two"], versions
print("fine")
"""


def test_versions_of_records_are_kept(tmp_path):
    """In a process of its own: all models have other listeners afterwards."""
    pytest.importorskip("sqlalchemy_continuum")
    code = VERSIONS.format(
        app=str(DOCS / "app.py"),
        code=section("business-recipes.md", "Versions of records"),
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )

    assert done.stdout == "fine\n", done.stderr


@pytest.mark.slow
def test_tools_for_ai_clients_call_services(module):  # noqa: F811
    fastmcp = pytest.importorskip("fastmcp")

    with disposed_engines():
        exec(APP, module.__dict__)
        exec(
            "from flask_records import SQLAlchemyService\n"
            "notes = records.add('notes', SQLAlchemyService(Note), public=True)",
            module.__dict__,
        )
        module.app.config["RECORDS_OPENAPI"] = {"enabled": True}
        app = module.create_app(module.records, RECORDS_OPENAPI={"enabled": True})
        exec(section("integrations.md", "Tools for AI clients"), module.__dict__)

        async def use(url):
            async with fastmcp.Client(module.make_tools(url)) as client:
                names = [tool.name for tool in await client.list_tools()]
                made = await client.call_tool("createNotes", {"text": "Hello"})
                return names, made.structured_content

        with running(app) as base:
            names, made = asyncio.run(use(base))

    assert {"findNotes", "getNotes", "patchNotes"} <= {*names}
    assert made["text"] == "Hello"
