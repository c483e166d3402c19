#!/usr/bin/env bash
# gunicorn 27.0.1, worker class asgi: a worker that gets SIGTERM tells open WebSockets
# nothing. It waits --graceful-timeout for them, without a closing frame and without the
# message lifespan.shutdown, and cuts them off then; uvicorn closes them at once (1012).
# Seen: the connection is open for more than 2 seconds of a graceful timeout of 3, and
# ends without a frame of opcode 8. Expected: a closing frame soon after the signal.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet gunicorn==27.0.1
cd "$folder"

cat >app.py <<'PYTHON'
async def app(scope, receive, send):
    message = await receive()

    if scope["type"] == "lifespan":
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
    elif scope["type"] == "websocket":
        await send({"type": "websocket.accept"})

        while message["type"] != "websocket.disconnect":
            message = await receive()
PYTHON

"$folder/venv/bin/python" - <<'PYTHON'
import signal
import socket
import subprocess
import sys
import time

with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]

options = ["-k", "asgi", "--graceful-timeout", "3", "-b", f"127.0.0.1:{port}", "app:app"]
server = subprocess.Popen(
    [sys.executable, "-m", "gunicorn", *options], stderr=subprocess.DEVNULL
)

for _ in range(200):
    try:
        client = socket.create_connection(("127.0.0.1", port), 20)
        break
    except OSError:
        time.sleep(0.1)

client.sendall(
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
assert b" 101 " in client.recv(1000)
time.sleep(0.5)
start = time.monotonic()
server.send_signal(signal.SIGTERM)

try:
    rest = client.recv(1000)
except ConnectionError:
    rest = b""

seconds = time.monotonic() - start
server.wait(30)
has_frame = rest[:1] == b"\x88"
print(f"{seconds:.1f} seconds, closing frame: {has_frame}")
sys.exit(seconds < 2 or has_frame)
PYTHON
