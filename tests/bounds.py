"""An application that everybody may call, served by a gunicorn of one worker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_records import FlaskRecords
from flask_records import SQLAlchemyService

from .models import Base
from .models import Message

ROOT = Path(__file__).parent.parent
WHITELIST = ["$and", "$ilike", "$like", "$not", "$search"]


def create_app():
    db, records = SQLAlchemy(model_class=Base), FlaskRecords(app_errors=True)
    service = SQLAlchemyService(
        Message, multi=True, whitelist=WHITELIST, paginate={"default": 10}
    )
    records.add("messages", service, public=True)
    app = Flask("tests.bounds")
    app.config["SQLALCHEMY_DATABASE_URI"] = os.environ["DATABASE_URL"]
    db.init_app(app)
    records.init_app(app)

    with app.app_context():
        db.create_all()

    return app


class Worker:
    """The one worker of a running gunicorn."""

    def __init__(self, log):
        self._log = log
        self.pid = int(re.search(r"Booting worker with pid: (\d+)", self.log)[1])
        self.host = re.search(r"http://(\S+)", self.log)[1]

    @property
    def log(self):
        """The text that gunicorn and the application have written."""
        return "".join(self._log)

    @property
    def memory(self):
        """The memory that the worker holds, in megabytes."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def worker(folder, *options):
    """A worker that serves the application from a file, and is stopped afterwards."""
    own = {"DATABASE_URL": f"sqlite:///{folder}/bounds.db"}
    process = subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "-w", "1", "-b", "127.0.0.1:0", *options]
        + ["tests.bounds:create_app()"],
        cwd=ROOT,
        env={**os.environ, **own, "XDG_RUNTIME_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    log, started = [], threading.Event()

    def read():
        for line in process.stdout:
            log.append(line)

            if "Booting worker" in line:
                started.set()

    reader = threading.Thread(target=read)
    reader.start()

    try:
        assert started.wait(30)
        yield Worker(log)
    finally:
        process.terminate()
        process.wait(15)
        reader.join()
        process.stdout.close()
