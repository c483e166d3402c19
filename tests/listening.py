"""Applications that answer real HTTP in a thread of the test."""

import threading
from contextlib import contextmanager

from werkzeug.serving import make_server, WSGIRequestHandler


class QuietHandler(WSGIRequestHandler):
    """Logs no requests, since tests look at what is logged."""

    def log_request(self, *args):
        pass


@contextmanager
def running(app):
    """The address of a server that answers real HTTP for an app."""
    server = make_server("127.0.0.1", 0, app, True, request_handler=QuietHandler)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()

    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
