"""The settings of gunicorn for the example. See docs/configuration.md."""

from os import environ

wsgi_app = "wsgi:app"
bind = environ.get("BIND", "127.0.0.1:8000")

# Workers exchange events through Redis. Without it, one worker has all connections,
# each with a thread of its own.
worker_class = "gthread"
workers = int(environ.get("WEB_CONCURRENCY", 2 if "REDIS_URL" in environ else 1))
threads = int(environ.get("THREADS", 100))

# The seconds that a worker waits for its connections before it stops.
graceful_timeout = 5

# Longer than a write waits for other writers.
timeout = 60
