"""The fields that a broken rule of a database is about."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa

from .violations import words_of

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Iterator

    from ..query import Fields
    from ..query.field_options import Constraint
    from .attempt import Attempt
    from .violations import Violation

Tables: t.TypeAlias = "list[sa.Table]"

UNIQUE: t.Final = (sa.Index, sa.UniqueConstraint)
"""The rules that may keep values unique."""


def fields_of(violation: Violation, attempt: Attempt) -> list[str]:
    """Return the names of the fields that a rule is about, if the database or the
    tables of the model tell them, and the caller may name them.
    """
    fields = attempt.fields

    if fields is None:
        return []

    tables = _tables(fields)

    # A trigger may have written to another table, whose columns have the same names.
    if violation.table and violation.table not in [each.name for each in tables]:
        return []

    for find in (_by_name, _by_columns, _by_expression, _by_domain):
        if names := list(_nameable(fields, find(violation, tables, attempt))):
            return names

    return []


def described(violation: Violation, fields: Fields) -> Constraint | None:
    """Return the application's description of a broken rule, if it has given one."""
    if not fields.constraints or violation.name:
        return fields.constraints.get(violation.name)

    # SQLite tells the columns of a rule that has to be unique, and not its name.
    for table in _tables(fields):
        for rule in (*table.constraints, *table.indexes):
            if isinstance(rule, UNIQUE) and _columns_of(rule, table) == [
                *violation.columns
            ]:
                return fields.constraints.get(_name_of(rule) or "")

    return None


def named_columns(fields: Fields) -> list[tuple[str, t.Any]]:
    """Return the names of the fields of all columns, with these."""
    name_of = fields.mapper.get_property_by_column
    return [(name_of(column).key, column) for column in fields.mapper.columns]


def _tables(fields: Fields) -> Tables:
    return [each for each in fields.mapper.tables if isinstance(each, sa.Table)]


def _nameable(fields: Fields, columns: Iterable[str]) -> Iterator[str]:
    """Yield the names of the fields of columns that the caller may name."""
    for wanted in columns:
        for name, column in named_columns(fields):
            is_nameable = name in fields.names or fields.body.is_written(name)

            if column.name == wanted and is_nameable:
                yield name


def _by_columns(
    violation: Violation, tables: Tables, attempt: Attempt
) -> Collection[str]:
    return violation.columns


def _by_name(violation: Violation, tables: Tables, attempt: Attempt) -> Collection[str]:
    """Return the columns of a constraint or an index of the tables."""
    name = violation.name

    for table in tables:
        # The name on MariaDB.
        if name == "PRIMARY":
            return [column.name for column in table.primary_key.columns]

        for rule in (*table.constraints, *table.indexes):
            # Without a name, an index of MariaDB gets that of its first column.
            if name and name in (_name_of(rule), _first_column(rule)):
                return _columns_of(rule, table)

        for column in table.columns:
            # The names of rules without one, on MariaDB and on PostgreSQL.
            if name in (column.name, f"{table.name}_{column.name}_check"):
                return [column.name]

    return []


def _by_expression(
    violation: Violation, tables: Tables, attempt: Attempt
) -> Collection[str]:
    words = words_of(violation.expression)
    return [c.name for table in tables for c in table.columns if c.name in words]


def _by_domain(
    violation: Violation, tables: Tables, attempt: Attempt
) -> Collection[str]:
    """Return the columns of a domain that were written."""
    written = {name for body in attempt.bodies for name in body}
    return [
        column.name
        for name, column in named_columns(t.cast("Fields", attempt.fields))
        if name in written
        and type(column.type).__name__ == "DOMAIN"
        and column.type.name == violation.type_
    ]


def _name_of(rule: t.Any) -> str | None:
    # A naming convention makes a name of this class, which is a text.
    return None if rule.name is None else str(rule.name)


def _first_column(rule: t.Any) -> str | None:
    if not isinstance(rule, UNIQUE) or rule.name is not None:
        return None

    columns = list(rule.columns)
    return columns[0].name if columns else None


def _columns_of(rule: t.Any, table: sa.Table) -> Collection[str]:
    if isinstance(rule, sa.CheckConstraint):
        words = words_of(str(rule.sqltext))
    elif isinstance(rule, sa.Index):
        words = words_of(" ".join(str(each) for each in rule.expressions))
    else:
        return [column.name for column in rule.columns]

    return [column.name for column in table.columns if column.name in words]
