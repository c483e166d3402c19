"""Databases of a run's own, on servers that others use as well."""

from __future__ import annotations

import uuid
from contextlib import contextmanager

import sqlalchemy as sa


@contextmanager
def new_database(url):
    """Yield the URL of a new, empty database on the same server, and drop it after the
    block: nothing is found of an earlier run, or left to a later one. A URL of SQLite
    is yielded as it is.
    """
    kind = sa.make_url(url).get_backend_name()

    if kind == "sqlite":
        yield url
        return

    name = f"records_{uuid.uuid4().hex[:12]}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")

    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")

        if kind == "postgresql":
            connection.exec_driver_sql(
                f"ALTER DATABASE {name} SET synchronous_commit = off"
            )

    try:
        yield engine.url.set(database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name}")

        engine.dispose()
