"""The settings of gunicorn for the example. See docs/example.md."""

import gc
from os import environ

# Workers that a reload starts import the application alone, and serve at once.
import flask_records.realtime.asgi  # noqa: F401

wsgi_app = "wsgi:asgi"
bind = environ.get("BIND", "127.0.0.1:8000")

# One event loop holds all connections, and THREADS for requests are those of wsgi.py.
worker_class = "asgi"

# Workers exchange events through Redis. Without it, one worker has all connections.
workers = int(environ.get("WEB_CONCURRENCY", 2 if "REDIS_URL" in environ else 1))

# The bytes of a message: "max_payload" of RECORDS_REALTIME.
websocket_max_message_size = 1024 * 1024

# The seconds that an idle connection stays open: longer than proxies keep theirs, which
# could send a request while this one closes.
keepalive = 75

# The seconds that a worker waits for its connections before it stops.
graceful_timeout = 5

# Longer than a write waits for other writers.
timeout = 60


def worker_exit(server, worker):
    """Look for no garbage at the end of a worker, which takes it a quarter second."""
    gc.freeze()
