"""Paths such as ``room.name``, which follow relationships to fields of other models."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.sql import operators

if t.TYPE_CHECKING:
    Relationship: t.TypeAlias = orm.RelationshipProperty[t.Any]

MAX_STEPS: t.Final = 3
"""The number of relationships in a path."""

APART: t.Final = """\
'{name}' leads to another database, where no query follows it. '$populate' does, or a \
hook that asks the other service.\
"""

OVER_SELECT: t.Final = """\
'{name}' is a relationship to an alias, or over a join, which no query follows. Ask by \
a hybrid property, or by a hook.\
"""


def meets(
    relationship: Relationship,
    entity: t.Any,
    alias: t.Any,
    terms: Sequence[t.Any],
    *,
    is_one: bool,
) -> t.Any:
    """Return the condition that a related record meets others.

    :param entity: The model that has the relationship, or an alias of it.
    :param alias: An alias of the related model.
    :param terms: The conditions on it.
    :param is_one: ``True`` if the condition is decided for one record, not to find
        records by it. SQLite then would make a list of all related ones in vain.
    """
    if is_one or not has_single_key(relationship):
        attribute = getattr(entity, relationship.key).of_type(alias)
        # SQLAlchemy does not adapt conditions in any() and has() to a union.
        related = sa.select(sa.true()).select_from(alias).where(attribute, *terms)
        return related.correlate_except(alias).exists()

    [(key, reference)] = relationship.synchronize_pairs
    is_own, mapper = relationship.direction is orm.MANYTOONE, relationship.mapper
    own = _at(relationship.parent, entity, reference if is_own else key)

    # SQLite finds records by a list of keys with an index, and by EXISTS without.
    if relationship.secondary is None:
        other = _at(mapper, alias, key if is_own else reference)
        return own.in_(sa.select(other).where(*terms))

    table: t.Any = relationship.secondary.alias()
    [(remote, link)] = t.cast("t.Any", relationship.secondary_synchronize_pairs)
    joined = table.c[link.key] == _at(mapper, alias, remote)
    return own.in_(sa.select(table.c[reference.key]).join(alias, joined).where(*terms))


def has_single_key(relationship: Relationship) -> bool:
    """Return ``True`` if one column on each side joins the two, by foreign keys of the
    table between them if there is one.
    """
    joins: list[t.Any] = [relationship.primaryjoin]
    pairs = [relationship.synchronize_pairs]

    if (table := relationship.secondary) is not None:
        joins.append(relationship.secondaryjoin)
        pairs.append(t.cast("t.Any", relationship.secondary_synchronize_pairs))

        if not all(table.c.contains_column(link) for each in pairs for _, link in each):
            return False

    return (
        not relationship.entity.is_aliased_class
        and all(len(each) == 1 for each in pairs)
        and all(
            getattr(join, "operator", None) is operators.eq
            # A function of a column compares another value.
            and isinstance(join.left, sa.Column)
            and isinstance(join.right, sa.Column)
            for join in joins
        )
    )


def path_problem(relationship: Relationship) -> str | None:
    """Return the reason why no query follows a relationship, with its name left out, or
    ``None``.
    """
    is_over_table = isinstance(relationship.secondary, (sa.Table, type(None)))

    if relationship.entity.is_aliased_class or not is_over_table:
        return OVER_SELECT

    # Flask-SQLAlchemy may have the two models on several databases.
    tables = [*relationship.parent.tables, *relationship.mapper.tables]
    metadata = [each.metadata for each in tables if isinstance(each, sa.Table)]
    return APART if len({each.info.get("bind_key") for each in metadata}) > 1 else None


def key_names(relationship: Relationship) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the fields of both ends that join them."""
    own = relationship.local_columns
    pairs = t.cast("t.Any", relationship.secondary_synchronize_pairs)
    # The foreign key may be on either side.
    others = {key for pair in pairs or () for key in pair} or relationship.remote_side
    return _names(relationship.parent, own), _names(relationship.mapper, others)


def single_key(relationship: Relationship) -> tuple[str, str] | None:
    """Return the names of the field on each side that join the two, or ``None`` if
    several do, or columns that are not fields.
    """
    own, others = key_names(relationship)

    if not (own and others and has_single_key(relationship)):
        return None

    [own_name], [other_name] = own, others
    return own_name, other_name


def split_paths(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the rests of paths by their first names."""
    rests: dict[str, list[str]] = {}

    for name in names:
        first, dot, rest = name.partition(".")
        rests.setdefault(first, []).extend([rest] if dot else [])

    return rests


def _names(mapper: orm.Mapper[t.Any], columns: t.Any) -> frozenset[str]:
    # A join may compare a column that is not mapped, such as one of another table.
    return frozenset(
        mapper.get_property_by_column(column).key
        for column in columns
        if mapper.columns.contains_column(column)
    )


def _at(mapper: orm.Mapper[t.Any], entity: t.Any, column: t.Any) -> t.Any:
    """Return the attribute of a column."""
    return getattr(entity, mapper.get_property_by_column(column).key)
