#!/usr/bin/env bash
# uvicorn 0.54.0 with httptools 0.9.0 answers a request of HTTP/1.0 with chunks.
#
# A response without a length ends with its connection in HTTP/1.0, which has no
# "Transfer-Encoding" (RFC 9112, section 6.1: "A server MUST NOT send a response
# containing Transfer-Encoding unless the corresponding request indicates HTTP/1.1").
# nginx asks its upstream by HTTP/1.0 unless "proxy_http_version" says otherwise. With
# "--http h11" the same application answers without chunks, and closes.
#
# Output seen:
#   httptools: chunked, body b'3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n'
#   h11: not chunked, body b'onetwo'
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet uvicorn==0.54.0 httptools==0.9.0 h11==0.16.0

cat >"$folder/parts.py" <<'PYTHON'
import socket
import threading
import time

import uvicorn


async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})


def answer(implementation):
    config = uvicorn.Config(app, http=implementation, lifespan="off", log_level="error")
    server = uvicorn.Server(config)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=[[listener]])
        thread.start()

        while not server.started:
            time.sleep(0.01)

        with socket.create_connection(listener.getsockname()) as client:
            client.settimeout(10)
            client.sendall(b"GET / HTTP/1.0\r\n\r\n")
            data = b""

            while part := client.recv(65536):
                data += part

        server.should_exit = True
        thread.join()

    head, _, body = data.partition(b"\r\n\r\n")
    is_chunked = b"transfer-encoding: chunked" in head.lower()
    return f"{implementation}: {'chunked' if is_chunked else 'not chunked'}, body {body}"


print(answer("httptools"))
print(answer("h11"))
PYTHON

seen=$("$folder/venv/bin/python" "$folder/parts.py")
printf '%s\n' "$seen"
expected="httptools: chunked, body b'3\\r\\none\\r\\n3\\r\\ntwo\\r\\n0\\r\\n\\r\\n'
h11: not chunked, body b'onetwo'"
[ "$seen" = "$expected" ]
