#!/usr/bin/env bash
# Flask 3.1.3 reads nothing of a body in chunks below a2wsgi 1.10.10 or asgiref 3.13.0.
#
# Werkzeug reads a body without a "Content-Length" only if the environ has
# "wsgi.input_terminated", as of gunicorn, waitress and Werkzeug's own server. The
# adapters of WSGI for ASGI applications, such as FastAPI's mounts, have received such a
# body, hand it over as "wsgi.input", and do not set the key: the view gets an empty
# body, and no error.
#
# Output seen:
#   a2wsgi: with a length b'hello', in chunks b''
#   asgiref: with a length b'hello', in chunks b''
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet flask==3.1.3 werkzeug==3.1.9 a2wsgi==1.10.10 \
    asgiref==3.13.0 uvicorn==0.54.0 h11==0.16.0

cat >"$folder/bodies.py" <<'PYTHON'
import http.client
import socket
import threading
import time

import uvicorn
from a2wsgi import WSGIMiddleware
from asgiref.wsgi import WsgiToAsgi
from flask import Flask, request

app = Flask("bodies")


@app.post("/")
def echo():
    return request.get_data()


def answers(name, adapter):
    options = {"http": "h11", "lifespan": "off", "log_level": "error"}
    server = uvicorn.Server(uvicorn.Config(adapter(app), **options))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=[[listener]])
        thread.start()

        while not server.started:
            time.sleep(0.01)

        found = []

        for body in (b"hello", iter([b"hel", b"lo"])):
            client = http.client.HTTPConnection(*listener.getsockname(), timeout=10)
            client.request("POST", "/", body, encode_chunked=body != b"hello")
            found.append(client.getresponse().read())
            client.close()

        server.should_exit = True
        thread.join()

    return f"{name}: with a length {found[0]}, in chunks {found[1]}"


print(answers("a2wsgi", WSGIMiddleware))
print(answers("asgiref", WsgiToAsgi))
PYTHON

seen=$("$folder/venv/bin/python" "$folder/bodies.py")
printf '%s\n' "$seen"
expected="a2wsgi: with a length b'hello', in chunks b''
asgiref: with a length b'hello', in chunks b''"
[ "$seen" = "$expected" ]
