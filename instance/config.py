"""Settings of this deployment, read from the environment.

Flask's own way works for every setting too: ``FLASK_RECORDS_...`` in the environment
becomes ``RECORDS_...`` here.
"""

from os import environ

# A file in this folder, unless DATABASE_URL names another database, for example
# postgresql+psycopg://user:password@host/name or mariadb+pymysql://user@host/name.
SQLALCHEMY_DATABASE_URI = environ.get("DATABASE_URL", "sqlite:///records.db")

# The largest body of a request, in bytes.
MAX_CONTENT_LENGTH = int(environ.get("MAX_CONTENT_LENGTH", 1024 * 1024))
