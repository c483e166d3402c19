"""Settings of this deployment, read from the environment.

Flask's own way works for every setting too: ``FLASK_RECORDS_...`` in the environment
becomes ``RECORDS_...`` here.
"""

from os import environ

# A file in this folder, unless DATABASE_URL names another database, for example
# postgresql+psycopg://user:password@host/name or mariadb+pymysql://user@host/name.
SQLALCHEMY_DATABASE_URI = environ.get("DATABASE_URL", "sqlite:///records.db")

# What tokens are signed with. A file of its own in this folder, unless the environment
# has it. All workers and machines need the same.
SECRET_KEY = environ.get("SECRET_KEY")

# Logins elsewhere come back to the page. The environment adds providers:
# FLASK_RECORDS_AUTHENTICATION__oauth__github__key and ..._secret. See docs/oauth.md.
RECORDS_AUTHENTICATION = {"oauth": {"redirect": "/"}}

# Where calls are counted: in the memory of each worker, unless a server does it for all
# of them, for example redis://127.0.0.1:6379.
RATELIMIT_STORAGE_URI = environ.get("RATELIMIT_STORAGE_URI", "memory://")

# How often an address can write, besides the limits that logins and registrations have.
# FLASK_RECORDS_LIMITS takes their place, as JSON. See docs/limits.md.
RECORDS_LIMITS = {
    "rooms.create": "10 per minute; 100 per hour",
    "members.create": "60 per minute; 600 per hour",
    "messages.create": "60 per minute; 1000 per hour",
}

# Whether users without an image get that of gravatar.com, which then learns a hash of
# their email from every browser that shows it. FLASK_GRAVATAR=true switches it on.
GRAVATAR = False

# Carries events between workers and machines, for example redis://127.0.0.1:6379.
# A connection takes one of gunicorn's threads, and calls over HTTP need some, too.
RECORDS_REALTIME = {
    "message_queue": environ.get("REDIS_URL"),
    "max_connections": int(environ.get("MAX_CONNECTIONS", 80)),
}

# The largest body of a request, in bytes.
MAX_CONTENT_LENGTH = int(environ.get("MAX_CONTENT_LENGTH", 1024 * 1024))
