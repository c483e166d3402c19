#!/usr/bin/env bash
# uWSGI 2.0.31 forks its workers without running "os.register_at_fork" of Python 3.11.
#
# A function of "os.register_at_fork(after_in_child=...)" runs in each child of os.fork,
# multiprocessing and "gunicorn --preload": libraries leave connections, locks and
# threads of the parent behind with it. uWSGI loads the application, forks, and runs none
# of them, unless "--py-call-osafterfork" is set, which is off by default.
#
# Output seen:
#   by default: 0 hooks
#   --py-call-osafterfork: 1 hooks
#   multiprocessing: 1 hooks
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet uWSGI==2.0.31
cd "$folder"

cat >app.py <<'PYTHON'
import os

ran = []
os.register_at_fork(after_in_child=lambda: ran.append(os.getpid()))


def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{len(ran)} hooks".encode()]
PYTHON

cat >ask.py <<'PYTHON'
import multiprocessing
import subprocess
import sys
import time
import urllib.error
import urllib.request

import app


def answer(port, *options):
    command = ["venv/bin/uwsgi", "--http-socket", f"127.0.0.1:{port}", "--master"]
    command += ["--processes", "1", "--need-app", "--module", "app", "--die-on-term"]
    server = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)

    try:
        for _ in range(100):
            try:
                url = f"http://127.0.0.1:{port}/"
                return urllib.request.urlopen(url, timeout=5).read().decode()
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
    finally:
        server.terminate()
        server.wait(20)


def count(queue):
    queue.put(len(app.ran))


fork = multiprocessing.get_context("fork")
queue = fork.SimpleQueue()
process = fork.Process(target=count, args=(queue,))
process.start()
process.join()
found = [
    f"by default: {answer(8731)}",
    f"--py-call-osafterfork: {answer(8732, '--py-call-osafterfork')}",
    f"multiprocessing: {queue.get()} hooks",
]
print("\n".join(found))
sys.exit([each[-7:] for each in found] != ["0 hooks", "1 hooks", "1 hooks"])
PYTHON

venv/bin/python ask.py
