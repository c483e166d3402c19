#!/usr/bin/env bash
# uWSGI 2.0.31 ends an answer whose iterator raises as it ends one that is whole.
#
# An answer without a length ends with its connection there, for clients of HTTP/1.1
# too, on "--http-socket" as on "--http". gunicorn sends chunks to the same client, and
# leaves out the last one, so that a client or a proxy notices that the rest is missing.
#
# Output seen:
#   uWSGI: not in chunks, body b'one', end noticed: False
#   gunicorn: in chunks, body b'one', end noticed: True
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet uWSGI==2.0.31 gunicorn==27.0.1
cd "$folder"

cat >app.py <<'PYTHON'
def parts():
    yield b"one"
    raise ValueError("There is no second part.")


def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return parts()
PYTHON

cat >ask.py <<'PYTHON'
import http.client
import subprocess
import time


def answer(name, port, *command):
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    try:
        for _ in range(100):
            try:
                client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                client.request("GET", "/")
                response = client.getresponse()
                break
            except ConnectionError:
                time.sleep(0.1)

        try:
            body, is_noticed = response.read(), False
        except http.client.IncompleteRead as error:
            body, is_noticed = error.partial, True
    finally:
        server.terminate()
        server.wait(20)

    chunks = "in chunks" if response.chunked else "not in chunks"
    return f"{name}: {chunks}, body {body}, end noticed: {is_noticed}"


address = "127.0.0.1:{}"
uwsgi = ["venv/bin/uwsgi", "--http-socket", address.format(8733), "--module", "app"]
print(answer("uWSGI", 8733, *uwsgi, "--need-app", "--die-on-term"))
gunicorn = ["venv/bin/gunicorn", "--bind", address.format(8734), "--no-control-socket"]
print(answer("gunicorn", 8734, *gunicorn, "app"))
PYTHON

seen=$(venv/bin/python ask.py)
printf '%s\n' "$seen"
expected="uWSGI: not in chunks, body b'one', end noticed: False
gunicorn: in chunks, body b'one', end noticed: True"
[ "$seen" = "$expected" ]
