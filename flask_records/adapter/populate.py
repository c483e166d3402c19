"""Relationships, shown as the services of their models show them."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.sql import operators, visitors

from ..errors import BadRequest
from ..problems import UNKNOWN_RELATIONSHIP
from ..query.bounds import AnswerSize, current_bounds, json_size, refused
from ..query.operators import POPULATE, SORT
from ..query.paths import key_names, MAX_STEPS, split_paths
from ..query.plans import Plan
from ..service.globals import current_records
from .resolved_call import chunks

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ..database.database import Database
    from ..query import Scope
    from ..service import Service
    from ..service.context import Params
    from ..typing import Record
    from .model import ServedModel

    Relationship: t.TypeAlias = orm.RelationshipProperty[t.Any]


RETURNS: t.Final = """\
'{path}' returns to the records that it comes from, with all of them in each: ask for \
them in a call of their own.\
"""


def links_of(
    served: ServedModel,
    names: Sequence[str],
    params: Params,
    visible: Collection[str],
    path: str = "",
    before: Relationship | None = None,
) -> list[Link]:
    """Return the links to the relationships of a model that a query names: those that
    one column on each side joins.

    :param names: The names, and paths over the relationships of related models.
    :param visible: The names of the fields that the caller sees in all records.
    :param path: The path to the model with a dot at its end, if there is one.
    :param before: The last relationship of the path.
    :raises BadRequest: A name is not a relationship that can be shown.
    """
    links = []

    for name, rests in split_paths(names).items():
        full = f"{path}{name}"

        if served.link_keys.get(name) not in visible or full.count(".") >= MAX_STEPS:
            raise refused(full, UNKNOWN_RELATIONSHIP)

        relationship = served.mapper.relationships[name]

        if before is not None and _returns(before, relationship):
            raise BadRequest(RETURNS.format(path=full))

        service = service_of(relationship, served.populate_paths)

        if service is None:
            raise refused(full, UNKNOWN_RELATIONSHIP)

        link = Link(relationship, service, params, rests, served.database)
        links.append(link)

        if not link.is_shown:
            raise refused(full, UNKNOWN_RELATIONSHIP)

        # Names are checked even if no record has the relationship.
        if rests:
            other = getattr(service.capabilities, "served", None)

            if other is None or not other.syntax.populates:
                raise refused(f"{full}.{rests[0]}", UNKNOWN_RELATIONSHIP)

            links_of(other, rests, params, link.visible, f"{full}.", relationship)

    return links


class Link:
    """A relationship, and the service that shows its records to a caller.

    :param populated: The relationships of the related records to load, too.
    :param database: The database of this end.
    """

    def __init__(
        self,
        relationship: Relationship,
        service: Service,
        params: Params,
        populated: Sequence[str],
        database: Database,
    ) -> None:
        self._relationship = relationship
        self._populated = populated
        self._database = database
        self._service = service
        self._params = params
        scope = service.capabilities.scope_for(params)
        self._scope = t.cast("Scope", scope)
        self.name = relationship.key
        """The name of the relationship."""
        [name], [self._remote_name] = key_names(relationship)
        self.column: t.Any = getattr(relationship.parent.class_, name)
        """The key of the records of this end, which a read selects too."""
        self.visible = self._scope.plain
        """The names of the fields of the other end that the caller sees in all."""
        self.is_shown = self._remote_name in self.visible
        """``True`` if the caller sees the key of the other end in all records."""

        # Without related records to find, a later refusal would reveal that.
        if params.provider is not None:
            service.params_of_find(replace(params, query={}))

    def fill(
        self,
        records: Sequence[Record],
        keys: Sequence[t.Any],
        answer: AnswerSize | None,
    ) -> None:
        """Set the relationship in every record, by the keys read with the records."""
        distinct = [key for key in dict.fromkeys(keys) if key is not None]
        by_key = self._find_by_key(distinct)
        is_list = self._relationship.uselist

        for record, key in zip(records, keys, strict=True):
            others = by_key.get(key, [])
            record[self.name] = others if is_list else next(iter(others), None)

            # A record that several have is written out for each of them.
            if answer is not None and others:
                answer.add(json_size(others))

    def _find_by_key(self, keys: Sequence[t.Any]) -> Mapping[t.Any, list[Record]]:
        """Return the records of the other end by the key of this end."""
        if self._relationship.secondary is None:
            return self._others(keys)

        pairs = self._pairs(keys)
        others = self._others(list({pair[1] for pair in pairs}))
        related: dict[t.Any, list[Record]] = defaultdict(list)

        for key, other_key in pairs:
            related[key] += others.get(other_key, [])

        return related

    def _others(self, keys: Sequence[t.Any]) -> Mapping[t.Any, list[Record]]:
        """Return records of the other end as the caller sees them there, by key."""
        name = self._remote_name
        others = self._service.as_caller(self._params, paginate=False, is_counted=False)
        by_key: dict[t.Any, list[Record]] = defaultdict(list)
        distinct = AnswerSize(current_bounds().answer)
        conversion = self._scope[name].conversion
        # The value in the record may be another form of the key.
        is_converted = conversion.show is not None

        for chunk in chunks(keys):
            query: Record = {name: {"$in": chunk}, SORT: self._sort}

            if self._populated:
                query[POPULATE] = [*self._populated]

            records = t.cast("list[Record]", others.find(query))

            if self._params.provider is not None:
                distinct.add(json_size(records))

            for record in records:
                # A hook may have removed the key.
                if name in record:
                    key = record[name]
                    by_key[conversion.cast(key) if is_converted else key].append(record)

        return by_key

    @property
    def _sort(self) -> Record:
        """The order of the relationship, by fields that the caller sees."""
        relationship, scope = self._relationship, self._scope
        # A table between the two orders its pairs.
        is_own = relationship.secondary is None
        order: t.Any = relationship.order_by if is_own else ()
        mapper, sort = relationship.mapper, {}

        for each in order or ():
            way = getattr(each, "modifier", None)
            # An expression such as a minus has an element, too.
            column = each if way is None else each.element

            if mapper.columns.contains_column(column):
                name = mapper.get_property_by_column(column).key

                if name in scope.plain and scope[name].conversion.is_sorted:
                    sort[name] = -1 if way is operators.desc_op else 1

        return sort

    def _is_seen(self, column: t.Any) -> bool:
        """Return ``True`` for a column of the table between the two, or of a field that
        the caller sees. The order of another one would reveal its values.
        """
        relationship = t.cast("t.Any", self._relationship)
        mapper = relationship.mapper

        if not mapper.columns.contains_column(column):
            return bool(relationship.secondary.c.contains_column(column))

        return mapper.get_property_by_column(column).key in self._scope.plain

    def _pairs(self, keys: Sequence[t.Any]) -> list[tuple[t.Any, t.Any]]:
        relationship = t.cast("t.Any", self._relationship)
        own = relationship.synchronize_pairs[0][1]
        other = relationship.secondary_synchronize_pairs[0][1]
        order = relationship.order_by or ()
        order = [each for each in order if all(map(self._is_seen, columns_in(each)))]
        statement = sa.select(own, other).order_by(*order, own, other)
        pairs: list[tuple[t.Any, t.Any]] = []

        if order:
            statement = statement.where(relationship.secondaryjoin)

        with self._database.reading() as reading:
            for chunk in chunks(keys):
                rows = reading.rows(Plan(statement.where(own.in_(chunk)), {}))
                pairs += [(row[0], row[1]) for row in rows]

        return pairs


def columns_in(expression: t.Any) -> list[t.Any]:
    """Return the columns in an expression."""
    parts = visitors.iterate(expression)
    return [each for each in parts if isinstance(each, sa.Column)]


def _returns(first: Relationship, second: Relationship) -> bool:
    """Return ``True`` if a relationship leads from a record to all that have led to it:
    the reverse of the one before, and a list.
    """
    if not second.uselist or first.secondary is not second.secondary:
        return False

    if first.secondary is not None:
        back: t.Any = first.secondary_synchronize_pairs
        return {*back} == {*second.synchronize_pairs}

    return {*second.local_remote_pairs} == {
        (remote, local) for local, remote in first.local_remote_pairs
    }


def service_of(relationship: Relationship, paths: Mapping[str, str]) -> Service | None:
    """Return the service that shows the records of a relationship, if there is one."""
    services = current_records.services
    path = paths.get(relationship.key)

    if path is not None and path in services:
        return services[path]

    if path is not None:
        raise RuntimeError(f"'populate' names '{path}', which is not a service.")

    model = relationship.mapper.class_
    matches = (each for each in services.values() if each.capabilities.model is model)
    return next(matches, None)
