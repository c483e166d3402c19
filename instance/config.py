"""The settings of this deployment, read from the environment.

Every setting can also come from the environment in Flask's way: ``FLASK_RECORDS_...``
there is ``RECORDS_...`` here.
"""

from os import environ
from pathlib import Path
from secrets import token_hex

# A file in this folder, unless DATABASE_URL names another database, for example
# postgresql+psycopg://user:password@host/name or mariadb+pymysql://user@host/name.
SQLALCHEMY_DATABASE_URI = environ.get("DATABASE_URL", "sqlite:///records.db")

# The secret that signs tokens. By default, the first start puts one into a file in this
# folder. All workers and machines need the same secret.
SECRET_KEY = environ.get("SECRET_KEY")

if not SECRET_KEY:
    secret_file = Path(__file__).with_name("secret.key")

    if not secret_file.exists():
        secret_file.touch(mode=0o600)
        secret_file.write_text(token_hex(32))

    SECRET_KEY = secret_file.read_text()

# Logins at OAuth providers return to the page. The environment adds providers:
# FLASK_RECORDS_AUTHENTICATION__oauth__github__key and ..._secret. See docs/oauth.md.
RECORDS_AUTHENTICATION = {"oauth": {"redirect": "/"}}

# The explorer at /_records/ and the reference at /docs show what their caller may see.
RECORDS_EXPLORER = {"enabled": True}
RECORDS_OPENAPI = {"enabled": True, "title": "Chat"}

# Browsers send the cookie that a login at a provider begins with to this site alone.
SESSION_COOKIE_SAMESITE = "Lax"

# The storage of the counts of calls: the memory of each worker, or a server for all of
# them: FLASK_RATELIMIT_STORAGE_URI=redis://127.0.0.1:6379.
RATELIMIT_STORAGE_URI = "memory://"

# The seconds that a call waits for that server, and goes on without its count.
RATELIMIT_STORAGE_OPTIONS = {"socket_timeout": 2, "socket_connect_timeout": 2}

# The limits on writes from one address, in addition to those on logins and
# registrations. FLASK_RECORDS_LIMITS replaces them, as JSON. See docs/limits.md.
RECORDS_LIMITS = {
    "rooms.create": "10 per minute; 100 per hour",
    "messages.create": "60 per minute; 1000 per hour",
}

# Carries events between workers and machines, for example redis://127.0.0.1:6379.
# Most systems let a process open 1024 files, of which each connection is one.
RECORDS_REALTIME = {
    "message_queue": environ.get("REDIS_URL"),
    "max_connections": int(environ.get("MAX_CONNECTIONS", 900)),
    "stream": "sse",
}

# The maximum size of a request's body in bytes.
MAX_CONTENT_LENGTH = int(environ.get("MAX_CONTENT_LENGTH", 1024 * 1024))
