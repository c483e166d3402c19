"""uvicorn in a thread, for hundreds of tests."""

import asyncio
import sys
from contextlib import suppress

import uvicorn
from wsproto.utilities import LocalProtocolError

TICK = 0.01


class QuickServer(uvicorn.Server):
    """Ends as soon as it may. uvicorn's own class sleeps twice before.

    :param app: The application.
    """

    def __init__(self, app):
        config = uvicorn.Config(app, log_config=None, ws="wsproto", lifespan="on")
        super().__init__(config)
        # Applications for WSGI take this for the server that they run in.
        sys.modules.pop("uvicorn.middleware.wsgi", None)

    async def main_loop(self):
        await self.on_tick(0)

        while not self.should_exit:
            await asyncio.sleep(TICK)

    async def shutdown(self, sockets=None):
        state = self.server_state

        for server in self.servers:
            server.close()

        for connection in list(state.connections):
            # A handshake may not have been answered.
            with suppress(LocalProtocolError):
                connection.shutdown()

        while state.connections or state.tasks:
            await asyncio.sleep(TICK)

        await self.lifespan.shutdown()
