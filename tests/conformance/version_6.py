"""Holds a server against the client of FeathersJS 6, unmodified.

Run ``python -m tests.conformance.version_6 KIT [SERVER] [WORKERS]``, with one of
gunicorn, uvicorn and granian. KIT is a copy of the kit's folder ``v6`` in which
``npm install`` has been run. Several workers need REDIS_URL.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import sqlalchemy as sa
from flask import Flask
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

from flask_records import (
    BadRequest,
    BODY_PARSERS,
    FlaskRecords,
    MultipartParser,
    SQLAlchemyService,
    StreamParser,
)
from flask_records.realtime import Realtime

from ..processes import free_port, ROOT
from ..waiting import START, wait_until

VALUES = {
    "null": None,
    "false": False,
    "zero": 0,
    "empty": "",
    "list": [],
    "object": {},
    "number": 42,
    "text": "text",
}


class Base(DeclarativeBase):
    pass


class Tag(Base):
    __tablename__ = "tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(100))
    color: Mapped[str | None] = mapped_column(sa.String(20))
    rank: Mapped[int | None]


class Shouter:
    def find(self, params):
        return []

    def shout(self, data, params):
        return {"via": "shout", "text": data["text"].upper()}


class Pings:
    events = ["pinged"]

    def create(self, data, params):
        return data


class Stream:
    def find(self, params):
        count, wait = (int(params.query.get(name, 0)) for name in ("count", "wait"))

        for n in range(count):
            yield {"n": n}
            time.sleep(wait / 1000)

    async def create(self, data, params):
        async def words():
            for word in data["text"].split():
                yield {"word": word}

        return words()


class Uploads:
    def create(self, data, params):
        if isinstance(data, dict):
            file = data["file"]
            size = len(file.read())
            about = {"name": file.filename, "type": file.mimetype, "size": size}
            return {**data, "file": about}

        size = sum(len(part) for part in iter(lambda: data.read(4096), b""))
        return {"size": size, "type": params.headers["Content-Type"]}


class Values:
    def get(self, id, params):
        return VALUES[id]


def create_asgi_app():
    engine = sa.create_engine(os.environ["DATABASE_URL"])
    records = FlaskRecords()
    service = SQLAlchemyService(Tag, session=sessionmaker(engine), multi=True)
    tags = records.add("tags", service, public=True)
    records.publish()(lambda event, record, context: "anonymous")

    @tags.before("create")
    def refuse_a_color(method, context):
        if any(body.get("color") == "refused" for body in context.bodies):
            raise BadRequest("Not this color", errors={"color": "is refused"})

    records.add("shouter", Shouter(), public=True, methods=["find", "shout"])
    records.add("stream", Stream(), public=True)
    records.add("values", Values(), public=True)
    parsers = {"multipart/form-data": MultipartParser(), "*/*": StreamParser(1 << 20)}
    records.add(
        "uploads", Uploads(), public=True, body_parsers={**BODY_PARSERS, **parsers}
    )
    pings = records.add("pings", Pings(), public=True)

    @pings.after("create")
    def ping(method, context):
        pings.emit("pinged", {"from": "service", "data": context.data})

    app = Flask(__name__)
    app.config["RECORDS_REALTIME"] = {
        "stream": "sse",
        "message_queue": os.environ.get("REDIS_URL") or None,
    }
    records.init_app(app)
    realtime = Realtime(records, app)
    return realtime.asgi(app)


def commands(server, port, workers):
    """The command of a server with this application."""
    name = "tests.conformance.version_6:create_asgi_app"
    number, port = str(workers), str(port)
    return {
        "gunicorn": [
            "-b",
            f"127.0.0.1:{port}",
            "-k",
            "asgi",
            "-w",
            number,
            f"{name}()",
        ],
        "uvicorn": ["--port", port, "--workers", number, "--factory", name],
        "granian": [
            *("--interface", "asgi", "--factory", "--port", port),
            *("--workers", number, "--workers-kill-timeout", "5s", name),
        ],
    }[server]


def main(kit, server="gunicorn", workers="1"):
    """Run the suite against a server, and return its exit status."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"

    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/version-6.db"
        engine = sa.create_engine(url)
        Base.metadata.create_all(engine)
        engine.dispose()
        process = subprocess.Popen(
            [sys.executable, "-m", server, *commands(server, port, workers)],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": url},
        )

        try:
            wait_until(lambda: is_served(base), START)
            suite = ["node", str(Path(kit) / "suite.mjs"), "--base", base]
            return subprocess.run(suite, check=False).returncode
        finally:
            process.terminate()
            process.wait(30)


def is_served(base):
    try:
        return urllib.request.urlopen(f"{base}/values/number").status == 200
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
