"""The columns that a relationship joins."""

from __future__ import annotations

import typing as t

from sqlalchemy import orm
from sqlalchemy.sql import operators


def is_plain(relationship: orm.RelationshipProperty[t.Any]) -> bool:
    """Return ``True`` if one key on each side joins the two, and nothing else."""
    joins = [relationship.primaryjoin]
    pairs = [relationship.synchronize_pairs]

    if relationship.secondary is not None:
        joins.append(t.cast("t.Any", relationship.secondaryjoin))
        pairs.append(t.cast("t.Any", relationship.secondary_synchronize_pairs))

    return all(
        getattr(join, "operator", None) is operators.eq for join in joins
    ) and all(len(each) == 1 for each in pairs)


def local_column(relationship: orm.RelationshipProperty[t.Any]) -> t.Any:
    """Return the column of this end."""
    return next(iter(relationship.local_columns))


def remote_column(relationship: orm.RelationshipProperty[t.Any]) -> t.Any:
    """Return the column of the other end, which a table between the two refers to."""
    if relationship.secondary is not None:
        pairs = t.cast("t.Any", relationship.secondary_synchronize_pairs)
        return pairs[0][0]

    return next(iter(relationship.remote_side))


def field_name(mapper: orm.Mapper[t.Any], column: t.Any) -> str:
    """Return the name of the field of a column."""
    return mapper.get_property_by_column(column).key


def key_field(relationship: orm.RelationshipProperty[t.Any]) -> str | None:
    """Return the name of the field that refers to the one record of the other end.
    ``None`` if the other end, or a table between the two, refers to this one.
    """
    if relationship.direction is not orm.MANYTOONE:
        return None

    return field_name(relationship.parent, local_column(relationship))
