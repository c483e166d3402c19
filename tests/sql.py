"""The SQL that services execute, as events of SQLAlchemy show it.

``select_of`` and its siblings make a service, call it with a query, and intercept the
statement before it reaches a database.
"""

from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql, postgresql, registry, sqlite
from sqlalchemy.dialects.mysql.mariadb import MariaDBDialect

from flask_records import Params, SQLAlchemyService, Transaction
from flask_records.database.connections import DRIVERS

DIALECTS = {
    "mariadb": MariaDBDialect(),
    "mysql": mysql.dialect(),
    "postgresql": postgresql.dialect(),
    "sqlite": sqlite.dialect(),
}
"""The dialects that statements are written in."""


VIEWS = "sqlite_master"
"""The table that the first write to a table of SQLite asks whether it is a view."""


def register_unconnected(name):
    """Register a dialect that needs no server: SQLite under the name of another one."""
    driver = next(each for each in DRIVERS if each.startswith(f"{name}+"))
    members = {
        "name": name,
        "driver": driver.partition("+")[2],
        "supports_statement_cache": True,
    }
    class_name = f"Unconnected_{name}"
    globals()[class_name] = type(class_name, (sqlite.dialect,), members)
    registry.register(f"{name}.unconnected", __name__, class_name)


for name in DIALECTS:
    register_unconnected(name)


class Statement(str):
    """The SQL of a statement, and the parameters that it was executed with."""

    def __new__(cls, sql, parameters):
        statement = super().__new__(cls, sql)
        statement.parameters = parameters
        return statement


@contextmanager
def statements_of(engine):
    """Record the statements that reach a database in the block, without those that ask
    for views.
    """
    statements = []

    def record(connection, cursor, sql, parameters, *rest):
        if VIEWS not in sql:
            statements.append(Statement(sql, parameters))

    sa.event.listen(engine, "before_cursor_execute", record)

    try:
        yield statements
    finally:
        sa.event.remove(engine, "before_cursor_execute", record)


class Intercepted(Exception):
    """Carries a statement and its parameters out of the call that would run it."""


def intercept(connection, statement, many, parameters, options):
    if VIEWS not in str(statement):
        raise Intercepted(statement, parameters)


@contextmanager
def unconnected(dialect):
    """Make an engine that raises :exc:`Intercepted` where it would run a statement."""
    engine = sa.create_engine(f"{dialect}+unconnected://")
    sa.event.listen(engine, "before_execute", intercept)

    try:
        yield engine
    finally:
        engine.dispose()


def statement_of(model, query, dialect, **options):
    """Return the first statement of a find of a client, and its parameters.

    :param options: The options of the service.
    :raises BadRequest: The service refuses the query.
    """
    with unconnected(dialect) as engine, pytest.raises(Intercepted) as raised:
        service = SQLAlchemyService(model, session=orm.sessionmaker(engine), **options)

        with Transaction():
            service.find(Params(query, provider="rest"))

    return raised.value.args


def select_of(model, query, dialect="postgresql", **service_options):
    """Return the SQL that reads the records of a query, on one line. The values are in
    it, unless there is one that the dialect can't write.
    """
    statement, parameters = statement_of(model, query, dialect, **service_options)
    statement = statement.params(parameters)
    options = {"dialect": DIALECTS[dialect]}

    try:
        compiled = statement.compile(**options, compile_kwargs={"literal_binds": True})
    except sa.exc.CompileError:
        compiled = statement.compile(**options)

    return " ".join(str(compiled).replace("%%", "%").split())


def where_of(model, query, dialect="postgresql", **options):
    """Return the condition that the records of a query have to meet."""
    statement = select_of(model, query, dialect, **options)
    return statement.partition(" WHERE ")[2].rpartition(" ORDER BY ")[0]
