"""A way to a server that breaks when it is told to."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from contextlib import suppress
from urllib.parse import urlsplit


class Relay:
    """Passes on the bytes of connections to a server."""

    def __init__(self, url):
        self._server = (urlsplit(url).hostname, urlsplit(url).port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._sockets = []
        self._is_up = True
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def cut(self):
        """Break all connections there are."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def down(self):
        """Break all connections, and accept no new ones for a while."""
        self._is_up = False
        self.cut()
        yield
        self._is_up = True

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self.cut()

        for thread in self._threads[1:]:
            thread.join()

        for each in [self._listener, *self._sockets]:
            each.close()

    def _accept(self):
        # It ends as the listener is shut down.
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()

                if not self._is_up:
                    near.close()
                    continue

                far = socket.create_connection(self._server)
                self._sockets += [near, far]

                for pair in ((near, far), (far, near)):
                    thread = threading.Thread(target=self._pass_on, args=pair)
                    self._threads.append(thread)
                    thread.start()

    def _pass_on(self, source, target):
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)

        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def relayed(url):
    """A way to a server."""
    relay = Relay(url)

    try:
        yield relay
    finally:
        relay.close()
