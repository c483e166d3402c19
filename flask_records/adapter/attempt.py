"""A statement that has failed, or may fail, with all that an error of it can name."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence

    import sqlalchemy as sa

    from ..query import Fields
    from ..query.resolution import ResolvedQuery
    from ..typing import Record


class Attempt(t.NamedTuple):
    """A statement, or a flush of a session."""

    fields: Fields | None = None
    """The fields that an error may name, or ``None`` for a read."""

    bodies: Sequence[Record] = ()
    """The values to write. None for a read and for a removal."""

    client_fields: Collection[str] = ()
    """The names of the fields that came from a client."""

    query: ResolvedQuery | None = None
    """The query of the statement."""

    dialect: sa.Dialect | None = None
    """The dialect of the database."""
