"""The way of packets to a client."""

from __future__ import annotations

import asyncio
import socket

import pytest

from flask_records.realtime.asgi.outlets import SocketOutlet

uvloop = pytest.importorskip("uvloop", reason="Python's own loop does not raise.")


@pytest.mark.parametrize("has_gone", [False, True])
def test_client_that_has_gone_is_told_no_reason(has_gone, caplog):
    ours, theirs = socket.socketpair()

    async def close():
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=ours)

        async def send(message):
            transport.write(message["reason"].encode())

        outlet = SocketOutlet(transport, send)

        if has_gone:
            outlet.hang_up()
            await asyncio.sleep(0.01)

        outlet.close(1013, "Too slow.")
        await asyncio.sleep(0.01)
        transport.close()
        await asyncio.sleep(0.01)

    with theirs:
        uvloop.run(close())
        received = theirs.recv(100)

    assert received == (b"" if has_gone else b"Too slow.")
    assert caplog.messages == []
