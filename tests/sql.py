"""The SQL that services run, as SQLAlchemy tells it: no module of the package is asked.

``select_of`` and its siblings make a service, call it with a query, and take the
statement from SQLAlchemy before it reaches a database.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects import registry
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.mysql.mariadb import MariaDBDialect

from flask_records import Params
from flask_records import SQLAlchemyService
from flask_records import Transaction

DIALECTS = {
    "mariadb": MariaDBDialect(),
    "mysql": mysql.dialect(),
    "postgresql": postgresql.dialect(),
    "sqlite": sqlite.dialect(),
}
"""The dialects that statements are written in."""


for name in DIALECTS:
    # SQLite under the name of another database, so that no server has to be there.
    members = {"name": name, "supports_statement_cache": True}
    globals()[f"Unconnected_{name}"] = type(name, (sqlite.dialect,), members)
    registry.register(f"{name}.unconnected", __name__, f"Unconnected_{name}")


class Execution(NamedTuple):
    """One execution of a statement."""

    sql: str
    parameters: object
    """A tuple or a mapping, as the driver takes it, or a list of these."""


@contextmanager
def statements_of(engine):
    """Record the SQL and the parameters that reach a database in the block."""
    executions = []

    def record(connection, cursor, statement, parameters, *rest):
        executions.append(Execution(statement, parameters))

    sa.event.listen(engine, "before_cursor_execute", record)

    try:
        yield executions
    finally:
        sa.event.remove(engine, "before_cursor_execute", record)


class Intercepted(Exception):
    """Carries a statement and its parameters out of the call that would run it."""


def intercept(connection, statement, many, parameters, options):
    raise Intercepted(statement, parameters)


def statement_of(model, query, dialect, **options):
    """Return the first statement of a find of a client, and its parameters.

    :param options: The options of the service.
    :raises BadRequest: The service refuses the query.
    """
    engine = sa.create_engine(f"{dialect}+unconnected://")
    sa.event.listen(engine, "before_execute", intercept)
    service = SQLAlchemyService(model, session=orm.sessionmaker(engine), **options)

    try:
        with Transaction():
            service.find(Params(query, provider="rest"))
    except Intercepted as intercepted:
        return intercepted.args
    finally:
        engine.dispose()

    raise AssertionError("Nothing was executed.")


def select_of(model, query, dialect="postgresql", **options):
    """Return the SQL that reads the records of a query, with the values in it."""
    statement, parameters = statement_of(model, query, dialect, **options)
    compiled = statement.params(parameters).compile(
        dialect=DIALECTS[dialect], compile_kwargs={"literal_binds": True}
    )
    return " ".join(str(compiled).replace("%%", "%").split())


def where_of(model, query, dialect="postgresql", **options):
    """Return the condition that the records of a query have to meet."""
    statement = select_of(model, query, dialect, **options)
    return statement.partition(" WHERE ")[2].rpartition(" ORDER BY ")[0]


def order_of(model, query, dialect="postgresql", **options):
    """Return the expressions that the records of a query are sorted by."""
    statement = select_of(model, query, dialect, **options)
    return statement.partition(" ORDER BY ")[2].partition(" LIMIT ")[0]


def count_of(model, query, dialect="postgresql", **options):
    """Return the SQL that counts the records of a query."""
    pages = {"paginate": {"default": 1}}
    query = {**query, "$limit": 0}
    return select_of(model, query, dialect, **pages, **options)
