"""Removals of records with write-only relationships."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import orm
from sqlalchemy.orm.base import PassiveFlag
from sqlalchemy.orm.writeonly import WriteOnlyHistory

if t.TYPE_CHECKING:
    AnyHistory: t.TypeAlias = WriteOnlyHistory[t.Any]
else:
    # It is generic in later versions of SQLAlchemy only.
    AnyHistory = WriteOnlyHistory

_loads: ContextVar[bool] = ContextVar("records_loads_related", default=False)


@contextmanager
def loading_related(mapper: orm.Mapper[t.Any], session: orm.Session) -> Iterator[None]:
    """Let a session load the records of write-only relationships that it removes, or
    whose keys it sets to null, as it does for all other relationships. SQLAlchemy
    refuses to, unless the database does this itself (``passive_deletes``).

    :param mapper: The mapper of the records to remove.
    """
    attributes = list(_write_only(mapper))

    if not attributes:
        yield
        return

    for attribute in attributes:
        # The application's own removals go on as before: this class differs from
        # SQLAlchemy's inside of this context manager only.
        attribute.collection_history_cls = History

    token = _loads.set(True)

    try:
        with session.no_autoflush:
            yield
    finally:
        _loads.reset(token)


class History(AnyHistory):
    """The changes of a write-only collection, with all that the database has."""

    def __init__(
        self, attr: t.Any, state: t.Any, passive: t.Any, apply_to: t.Any = None
    ) -> None:
        if apply_to is None or not _loads.get():
            super().__init__(attr, state, passive, apply_to)
            return

        super().__init__(attr, state, PassiveFlag.PASSIVE_NO_FETCH, apply_to)
        collection = getattr(state.obj(), attr.key)
        related = state.session.scalars(collection.select())
        self.unchanged_items.update(related)
        self._reconcile_collection = True


def _write_only(mapper: orm.Mapper[t.Any]) -> Iterator[t.Any]:
    """Yield the write-only attributes of all models that a removal may cascade to."""
    for each in mapper.registry.mappers:
        for relationship in each.relationships:
            if relationship.lazy == "write_only" and not relationship.passive_deletes:
                yield getattr(each.class_, relationship.key).impl
