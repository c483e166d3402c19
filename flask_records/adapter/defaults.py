"""Values that an update gives to fields that the body leaves out."""

from __future__ import annotations

import re
import typing as t

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

if t.TYPE_CHECKING:
    from ..query import Field

KEEP: t.Final = object()
"""The default of a field that only the database can tell."""

ESCAPED_COLON = re.compile(r"\\(:)")


class ServerDefault(FunctionElement[t.Any]):
    """The default that a table has as text. It may be more than an expression, such as
    ``CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP``.
    """

    inherit_cache = True


@compiles(ServerDefault)
def _in_full(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    [clause] = element.clauses
    # Text of SQLAlchemy has parameters where that of a table has colons.
    return str(compiler.post_process_text(ESCAPED_COLON.sub(r"\1", clause.text)))


@compiles(ServerDefault, "postgresql", "mysql", "mariadb")
def _by_name(element: t.Any, compiler: t.Any, **options: t.Any) -> str:
    return "DEFAULT"


def default_of(field: Field) -> t.Any:
    """Return the value that an update gives a field that the body leaves out, or
    :data:`KEEP`.
    """
    column = field.column.property.columns[0]
    default = column.default

    if column.onupdate is not None or column.server_onupdate is not None:
        return KEEP

    # The database counts it up.
    if column.autoincrement is True:
        return KEEP

    if default is None:
        return _server_default_of(column)

    if default.is_scalar:
        return default.arg

    if default.is_callable:
        # SQLAlchemy wraps a function that takes no context.
        return default.arg(None) if hasattr(default.arg, "__wrapped__") else KEEP

    return getattr(default, "arg", KEEP)


def _server_default_of(column: sa.Column[t.Any]) -> t.Any:
    if column.server_default is None:
        return None

    expression = getattr(column.server_default, "arg", None)

    if isinstance(expression, str):
        return sa.text("'{}'".format(expression.replace("'", "''").replace(":", r"\:")))

    if isinstance(expression, sa.TextClause):
        return ServerDefault(expression)

    return KEEP if expression is None else expression
