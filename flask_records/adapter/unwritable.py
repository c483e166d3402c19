"""Views and tables that a database does not write."""

from __future__ import annotations

import typing as t
from contextlib import suppress

import sqlalchemy as sa

from ..errors import Forbidden
from ..errors import MethodNotAllowed
from .availability import code_of

if t.TYPE_CHECKING:
    from sqlalchemy import orm

    from ..errors import RecordsError

POSTGRESQL_FUNCTIONS: t.Final = frozenset(
    {"rewriteTargetView", "error_view_not_updatable", "CheckValidResultRel"}
    | {"CheckSelectLocking", "CheckValidRowMarkRel"}
)
"""The functions of PostgreSQL's server that refuse to write. Some of the codes of their
errors stand for much else, and the messages are in the language of the server.
"""

NO_RIGHT: t.Final = "42501"
ROW_SECURITY: t.Final = "ExecWithCheckOptions"
"""The function that refuses a row by a policy of the table."""

MYSQL: t.Final = frozenset({1142, 1143, 1288, 1348, 1394, 1395, 1471})

SQLITE: t.Final = "because it is a view"

READ_ONLY: t.Final = {
    "sqlite": sa.text("""\
        SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = :name
        AND NOT EXISTS
            (SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :name)
    """),
    "postgresql": sa.text("""\
        SELECT 1 FROM pg_class
        WHERE oid = to_regclass(:name) AND relkind IN ('v', 'm')
        AND pg_relation_is_updatable(oid, true) = 0
    """),
    **dict.fromkeys(
        ("mariadb", "mysql"),
        sa.text("""\
            SELECT 1 FROM information_schema.views WHERE is_updatable = 'NO'
            AND :name IN
                (table_name, concat('`', table_schema, '`.`', table_name, '`'))
        """),
    ),
}
"""The statements that find a view that can't be written."""


def unwritable(error: sa.exc.DBAPIError) -> RecordsError | None:
    """Return the error for a statement that writes what the database does not let it
    write, or ``None`` for another error.
    """
    driver, code = t.cast("t.Any", error.orig), code_of(error)
    function = getattr(getattr(driver, "diag", None), "source_function", None)

    if code == NO_RIGHT and function == ROW_SECURITY:
        return Forbidden("The database does not allow these values.")

    is_unwritable = (
        code in MYSQL
        or code == NO_RIGHT
        or function in POSTGRESQL_FUNCTIONS
        or (code is None and str(driver).endswith(SQLITE))
    )
    return read_only() if is_unwritable else None


def read_only() -> MethodNotAllowed:
    """Return the error of a call that writes what can only be read."""
    return MethodNotAllowed("These records can only be read.")


def is_read_only(connection: sa.Connection, table: t.Any) -> bool:
    """Return ``True`` if the database has a view that it does not write."""
    dialect = connection.dialect
    statement = READ_ONLY.get(dialect.name)

    if statement is None or not isinstance(table, sa.Table):
        return False

    is_quoted = dialect.name == "postgresql" or table.schema is not None
    quoted = dialect.identifier_preparer.format_table(table)
    name = quoted if is_quoted and dialect.name != "sqlite" else table.name
    return connection.execute(statement, {"name": name}).first() is not None


def is_known_as_read_only(bind: t.Any, mapper: orm.Mapper[t.Any]) -> bool:
    """Return ``True`` if an engine that has been connected before has a view that it
    does not write. No connection is made for the first time.
    """
    if bind.dialect.server_version_info is None or not isinstance(bind, sa.Engine):
        return False

    with suppress(sa.exc.DBAPIError), bind.connect() as connection:
        return is_read_only(connection, mapper.local_table)

    return False
