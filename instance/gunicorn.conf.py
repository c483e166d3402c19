"""How gunicorn serves the example. See docs/configuration.md."""

from os import environ

wsgi_app = "wsgi:app"
bind = environ.get("BIND", "127.0.0.1:8000")

# Workers tell each other of events through Redis. Without it, there is one worker for
# all connections, each of which has a thread of its own.
worker_class = "gthread"
workers = int(environ.get("WEB_CONCURRENCY", 2 if "REDIS_URL" in environ else 1))
threads = int(environ.get("THREADS", 100))

# How long connections keep a worker that is to stop.
graceful_timeout = 5

# Longer than a write waits for other writers.
timeout = 60
