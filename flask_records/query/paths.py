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
    """Return ``True`` if one column on each side joins the two."""
    joins = [relationship.primaryjoin]
    pairs = [relationship.synchronize_pairs]

    if relationship.secondary is not None:
        joins.append(t.cast("t.Any", relationship.secondaryjoin))
        pairs.append(t.cast("t.Any", relationship.secondary_synchronize_pairs))

    return all(
        getattr(join, "operator", None) is operators.eq for join in joins
    ) and all(len(each) == 1 for each in pairs)


def leads_elsewhere(relationship: Relationship) -> bool:
    """Return ``True`` if Flask-SQLAlchemy has the two models on several databases."""
    tables = [*relationship.parent.tables, *relationship.mapper.tables]
    metadata = [each.metadata for each in tables if isinstance(each, sa.Table)]
    return len({each.info.get("bind_key") for each in metadata}) > 1


def key_names(relationship: Relationship) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the fields of both ends that join them."""
    own = relationship.local_columns
    pairs = t.cast("t.Any", relationship.secondary_synchronize_pairs)
    others = [pair[0] for pair in pairs] if pairs else relationship.remote_side
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
