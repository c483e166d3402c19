#!/usr/bin/env bash
# granian 2.8.2 gives applications the version of an HTTP/1.0 request as "1".
#
# In ASGI "http_version" is one of "1.0", "1.1" and "2", and in WSGI "SERVER_PROTOCOL" is
# "HTTP/1.0" or "HTTP/1.1" (asgi.readthedocs.io, HTTP and WebSocket, "HTTP connection
# scope"; PEP 3333, "environ variables"). An application that compares with "1.0", to send
# no chunks and keep no connection open, takes the request for one of HTTP/1.1. The
# status line of the answer has "HTTP/1.0".
#
# Output seen:
#   asgi: HTTP/1.0 is '1', HTTP/1.1 is '1.1'
#   wsgi: HTTP/1.0 is 'HTTP/1', HTTP/1.1 is 'HTTP/1.1'
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet granian==2.8.2

cat >"$folder/versions.py" <<'PYTHON'
async def asgi(scope, receive, send):
    if scope["type"] == "http":
        body = repr(scope["http_version"]).encode()
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})


def wsgi(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [repr(environ["SERVER_PROTOCOL"]).encode()]
PYTHON

cat >"$folder/ask.py" <<'PYTHON'
import socket
import subprocess
import sys
import time

GRANIAN = [sys.argv[1], "--log-level", "error", "--blocking-threads", "1"]


def ask(port, version):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(10)
        head = f"GET / {version}\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode())
        data = b""

        while part := client.recv(65536):
            data += part

    body = data.partition(b"\r\n\r\n")[2].decode()
    return f"{version} is {body}"


for interface in ("asgi", "wsgi"):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    command = [*GRANIAN, "--interface", interface, "--port", str(port)]
    server = subprocess.Popen([*command, f"versions:{interface}"])

    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)

        print(f"{interface}: {ask(port, 'HTTP/1.0')}, {ask(port, 'HTTP/1.1')}")
    finally:
        server.terminate()
        server.wait()
PYTHON

cd "$folder"
seen=$(venv/bin/python ask.py venv/bin/granian)
printf '%s\n' "$seen"
[ "$seen" = "asgi: HTTP/1.0 is '1', HTTP/1.1 is '1.1'
wsgi: HTTP/1.0 is 'HTTP/1', HTTP/1.1 is 'HTTP/1.1'" ]
