"""How gunicorn serves the example. See docs/configuration.md."""

from os import environ

wsgi_app = "wsgi:app"
bind = environ.get("BIND", "127.0.0.1:8000")

# SQLite has one writer at a time, which others wait for. Two processes with some
# threads keep two processors busy and let readers go on meanwhile.
worker_class = "gthread"
workers = int(environ.get("WEB_CONCURRENCY", 2))
threads = int(environ.get("THREADS", 4))

# Longer than a write waits for other writers.
timeout = 60
