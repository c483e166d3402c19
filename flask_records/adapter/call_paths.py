"""The paths over relationships that a caller may follow from a model."""

from __future__ import annotations

import typing as t
from dataclasses import replace
from types import SimpleNamespace

import sqlalchemy as sa
from sqlalchemy import orm

from ..database.transaction import Transaction
from ..errors import BadRequest
from ..query.bounds import current_bounds
from ..query.paths import key_names, MAX_STEPS, path_problem, single_key
from ..query.plans import Plan
from ..query.where import conditions, origins_of, ResolvedQuery
from ..service.context import Params
from .populate import service_of

if t.TYPE_CHECKING:
    from ..query import Scope
    from ..query.paths import Relationship
    from .model import Model, ServedModel

EVERYTHING: t.Final = ResolvedQuery(())


class CallPaths:
    """A model as a caller sees it, and the paths that the caller may follow from there:
    all in Python, and for clients those over ``relations`` to what the services of the
    related models show them.

    :param model: The model on the database of the call.
    :param params: The params of the caller.
    :param beside: The model at the beginning, and the query of the records of it to
        which the paths may lead back. All by default.
    :param origin: The fields at the beginning of the path. This model's by
        default, but for clients.
    :param lists: The relationships to lists that the query has followed, with which
        this model adds to them. None by default.
    """

    def __init__(
        self,
        model: Model,
        scope: Scope,
        params: Params,
        relationship: t.Any = None,
        beside: tuple[orm.Mapper[t.Any], ResolvedQuery] | None = None,
        lists: list[str] | None = None,
        origin: Scope | None = None,
    ) -> None:
        self.scope = scope
        """The fields that the caller may name."""
        self.origin = origin or (scope if params.provider is None else None)
        """The fields at the beginning of the path. ``None`` for clients."""
        self.shown_if = model.conditions(scope.shown_if)
        """The queries of the records in which the caller sees a field, by its name. A
        comparison of the field holds in no other record.
        """
        self.relationship: Relationship = relationship
        """The relationship to the model, if it is at the end of a path."""
        self._served = model.served
        self._model = model
        self._params = params
        self._beside = beside
        self._lists = [] if lists is None else lists
        self._related: dict[str, CallPaths | None] = {}

    @property
    def rule(self) -> ResolvedQuery:
        """The query of the records that the caller sees."""
        rule = self._model.within_rules(EVERYTHING, self._params)

        if self._beside is None:
            return rule

        first, others = self._beside
        is_back = self._served.mapper.base_mapper is first.base_mapper
        return rule.within(others) if is_back else rule

    def follow(self, name: str) -> CallPaths | None:
        """Return the model at the end of a relationship, or ``None`` if there is no
        such relationship for the caller.
        """
        if name not in self._related:
            self._related[name] = self._step(name)

        related, limit = self._related[name], current_bounds().scans

        if related is not None and related.relationship.uselist:
            self._lists.append(name)

        if self._params.provider is not None and len(self._lists) > limit:
            raise BadRequest(f"The query has more than {limit} paths over lists.")

        return related

    def _step(self, name: str) -> CallPaths | None:
        full = f"{self.scope.path}{name}"
        relationship = self._served.mapper.relationships.get(name)
        is_open = self._params.provider is None or name in self._served.relations

        if relationship is None or not is_open or full.count(".") >= MAX_STEPS:
            return None

        if problem := path_problem(relationship):
            raise BadRequest(problem.format(name=full))

        dialect, paths = self._model.fields.dialect, self._served.populate_paths
        # At the start of an application, other services may not be there yet.
        service = service_of(relationship, paths) if dialect else None
        params = Params()
        served = self._served.follow(relationship, service)
        model = served.on(dialect) if dialect else served.generic

        if self._params.provider is not None:
            if service is None or "find" not in service.methods:
                return None

            # The service shows its records by its rules. Its hooks do not run.
            params = service.params_of_find(replace(self._params, query={}))

        scope = replace(served.scope_of(params, model), path=f"{full}.")

        if params.provider and not sees_keys(relationship, self.scope, scope):
            return None

        shared = self._beside, self._lists, self.origin
        return CallPaths(model, scope, params, relationship, *shared)


def sees_keys(relationship: Relationship, here: Scope, there: Scope) -> bool:
    """Return ``True`` if a caller sees the keys by which records belong together, which
    a condition would reveal.
    """
    own, others = key_names(relationship)
    return own <= here.plain and others <= there.plain


def meets_related(
    served: ServedModel, relationship: Relationship, query: ResolvedQuery, record: t.Any
) -> bool | None:
    """Return ``True`` if the one record that a record, typed or as it is in JSON,
    refers to meets a query. ``None`` if that is unknown: it does not refer to one by a
    single key, or has not this field.
    """
    names = single_key(relationship)
    is_one = relationship.direction is orm.MANYTOONE

    if names is None or not is_one or not isinstance(record, dict):
        return None

    field, origins = served.generic.fields.stored.get(names[0]), origins_of(query.terms)

    if not field or any(each.name not in record for each in (field, *origins)):
        return None

    key = field.cast_for_query(record[field.name])

    if key is None:
        return False

    values = [(each, each.cast_for_query(record[each.name])) for each in origins]
    literals = {e.name: sa.literal(value, e.column.type) for e, value in values}
    path = SimpleNamespace(**literals), relationship.mapper.class_
    other = getattr(path[-1], names[1])
    where = other == key, *conditions(query, *path, is_one=True, is_literal=True)

    with Transaction(writes=False), served.database.reading() as reading:
        return bool(reading.rows(Plan(sa.select(sa.true()).where(*where), {})))
