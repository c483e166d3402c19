"""A call on a model with its query resolved, and the records of its rows."""

from __future__ import annotations

import logging
import typing as t

from ..database.driver_cursor import PART
from ..errors import NotFound
from ..query.bounds import AnswerSize, current_bounds
from ..query.conversions import Unreadable
from ..query.field import quote_value
from ..service.results import PrivateRecord

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ..database.database import Reading
    from ..database.driver_cursor import Rows
    from ..query import Fields, Scope
    from ..query.conversions import Cast
    from ..query.groups import Groups
    from ..query.plans import Plan, Selection
    from ..query.where import ResolvedQuery
    from ..service.context import Params
    from ..typing import Id, Record
    from .model import Model
    from .populate import Link

CHUNK: t.Final = 500
"""The number of keys in one statement, or in one call."""

UNREADABLE: t.Final = "'%s.%s' of the record %r has a value that can't be read: %s"

logger = logging.getLogger(__package__)

K = t.TypeVar("K")


class ResolvedCall(t.NamedTuple):
    """A call whose query is resolved."""

    model: Model
    """The model on the database of the call."""

    scope: Scope
    """The fields that the caller may name."""

    params: Params
    """The params of the call."""

    query: ResolvedQuery
    """The query."""

    links: Sequence[Link]
    """The relationships to load."""

    selection: Selection
    """The columns to select."""

    rule_fields: Sequence[str] = ()
    """The hidden fields that are selected for rules, and are in no record."""

    is_private: bool = False
    """``True`` if there are fields that the caller does not see in each record."""

    guards: Mapping[str, Record] | None = None
    """The queries that a record has to meet whose guarded fields the body of a client
    names, by the names of the fields: before it is changed, or once it is created.
    """

    @property
    def answer_size(self) -> AnswerSize | None:
        """A new count of the bytes of the answer, ``None`` for a call in Python."""
        is_client = self.params.provider is not None
        return AnswerSize(current_bounds().answer) if is_client else None

    def read_page(self, reading: Reading, limit: int | None) -> Rows:
        """Return the rows of the query: no more than an answer to a client may have."""
        selection, plans, locking = self.selection, self.model.plans, self.params.lock
        # Few records are small, and the values of groups are.
        is_short = limit is not None and limit <= PART
        is_small = is_short or self.query.groups is not None
        answer = None if is_small else self.answer_size

        if answer is None:
            return reading.rows(
                plans.records(self.query, selection, limit, locking=locking)
            )

        # The drivers take all rows of a statement before they give the first.
        if limit is None and reading.dialect.name != "sqlite":
            limit = 1 + answer.limit // selection.min_size

        plan = plans.records(self.query, selection, limit, locking=locking)
        return reading.rows(self.limit_size(plan, selection.size_of))

    def limit_size(self, plan: Plan, size_of: Callable[[Rows], int]) -> Plan:
        """Return a plan that reads no more rows than an answer to a client may have."""
        answer = self.answer_size

        if answer is None:
            return plan

        return plan._replace(check=lambda rows: answer.add(size_of(rows)))

    def records(self, rows: Rows) -> list[Record]:
        """Return the records of rows, which begin with the selected columns."""
        if self.query.groups is not None:
            return self._groups(rows, self.query.groups)

        names = self.selection.names
        # Rows may have extra columns. Telling zip() so would cost a third more time.
        records: list[Record] = [dict(zip(names, row)) for row in rows]  # noqa: B905

        for name, as_shown in self.selection.shown:
            for record in records:
                if record[name] is not None:
                    self._show(record, name, as_shown)

        composite = self.model.fields.composite

        if composite is not None:
            id = composite.name
            records = [{id: composite.text(each), **each} for each in records]

        answer = self.answer_size if self.links else None

        for index, link in enumerate(self.links, len(names)):
            keys = [row[index] for row in rows]
            link.fill(records, keys, answer)

        if self.is_private:
            return self._private(records, rows, len(names) + len(self.links))

        return records

    def _show(self, record: Record, name: str, as_shown: Cast) -> None:
        """Put the form of a value into a record, or take a value out that can't be
        read: all others are answered.
        """
        try:
            record[name] = as_shown(record[name])
        except Unreadable as error:
            del record[name]
            fields = self.model.fields
            id = [record.get(each.name) for each in fields.identifying]
            logger.warning(UNREADABLE, fields.model.__name__, name, *id[:1], error)

    def _groups(self, rows: Rows, groups: Groups) -> list[Record]:
        """Return the groups of rows. The caller sees all values, which no rule is asked
        about.
        """
        records = [groups.record(row) for row in rows]
        service = self.params._state.service

        if service is None or not self.is_private:
            return records

        return [PrivateRecord(each, service, frozenset()) for each in records]

    def _private(self, records: list[Record], rows: Rows, start: int) -> list[Record]:
        """Return records that know the fields that the caller may not see."""
        service = self.params._state.service
        hidden = self.model.clients.names - self.scope.names
        viewer = self.params.user
        private: list[Record] = []

        if service is None:
            raise RuntimeError("A call with rules for fields needs its service.")

        for record, row in zip(records, rows, strict=True):
            rule_values = {name: record.pop(name) for name in self.rule_fields}
            unseen = [
                name
                for index, name in enumerate(self.selection.conditions, start)
                if not row[index]
            ]
            names = hidden.union(unseen) if unseen else hidden
            private.append(PrivateRecord(record, service, names, rule_values, viewer))

        return private


def max_records(params: Params) -> int | None:
    """Return the number of records that a call may write, or ``None`` for any."""
    return None if params.provider is None else current_bounds().multi


def chunks(keys: Collection[K]) -> Iterator[Sequence[K]]:
    """Yield keys in their order, :data:`CHUNK` at most at a time."""
    items = list(keys)

    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def identifier(fields: Fields, id: Id) -> tuple[t.Any, ...]:
    """Return the values of an identifier: one, or one for each part."""
    try:
        value = fields.id.conversion.read(id)
    except ValueError:
        value = None

    if value is None:
        raise not_found(id)

    return (value,) if fields.composite is None else value


def not_found(id: Id) -> NotFound:
    """Return the error for a record that is not there, or that the query leaves out."""
    return NotFound(f"No record found for id {quote_value(id)}")
