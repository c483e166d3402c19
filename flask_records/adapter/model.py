"""A model as a service serves it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from functools import cached_property

from flask import current_app, has_app_context

from ..database.connections import check_driver
from ..database.database import Database
from ..errors import BadRequest
from ..query import FieldOptions, Fields, Scope
from ..query.field import values_of
from ..query.fields import mapper_of
from ..query.groups import is_grouping, resolve_groups
from ..query.paths import single_key
from ..query.plans import Plans, Selection
from ..query.rules import NO_RULES
from ..query.syntax import resolve
from ..service.context import Params
from .bodies import Bodies
from .call_paths import CallPaths
from .fast_path import FastPath
from .populate import links_of
from .references import references_of, writable_relations
from .resolved_call import not_found, ResolvedCall
from .writing import UnitOfWork

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import sqlalchemy as sa
    from sqlalchemy import orm

    from ..database.database import Reading, Writing
    from ..database.joined_session import SessionSource
    from ..query import Field, FieldRules, Syntax
    from ..query.paths import Relationship
    from ..query.where import ResolvedQuery
    from ..service import Service
    from ..typing import Record
    from .fast_path import Write
    from .populate import Link
    from .references import Reference

WRONG_RULE: t.Final = "A rule for '{name}' is not right: {error}"


@dataclass(kw_only=True, eq=False)
class ServedModel:
    """A model with the options of its service. It alone knows sessions, users and the
    services of related models, and resolves calls for the :class:`Model` of a database.

    It is looked at when an application is set up or at the first use, whichever is
    first, so that a module can name a service before all models are mapped or
    reflected.
    """

    mapped_class: type[t.Any]
    """The mapped class."""

    source: SessionSource
    """The source of sessions."""

    options: FieldOptions
    """The options of the fields."""

    rules: FieldRules = NO_RULES
    """The rules for the fields that a user may see or write."""

    syntax: Syntax
    """The names that queries may use."""

    populate_paths: Mapping[str, str] = field(default_factory=dict)
    """The paths of the services that show relationships, by their names."""

    writable_relations: Collection[str] = ()
    """The names of the relationships that bodies may name."""

    relations: Collection[str] = ()
    """The names of the relationships that queries of clients may follow."""

    aggregates: Collection[str] = ()
    """The names of the fields that clients may group by, count and sum up."""

    _models: dict[tuple[str, bool], Model] = field(default_factory=dict, init=False)
    _unserved: dict[t.Any, ServedModel] = field(default_factory=dict, init=False)

    @cached_property
    def mapper(self) -> orm.Mapper[t.Any]:
        """The mapper of the class."""
        return mapper_of(self.mapped_class)

    @cached_property
    def generic(self) -> Model:
        """The dialect-independent model."""
        return Model(self, None)

    @cached_property
    def database(self) -> Database:
        """The database."""
        return Database(self.source, self.mapper)

    @cached_property
    def link_keys(self) -> Mapping[str, str]:
        """The fields by which relationships can be shown, by the names of these."""
        relationships = self.mapper.relationships
        keys = {each.key: single_key(each) for each in relationships}
        return {name: key[0] for name, key in keys.items() if key}

    @cached_property
    def references(self) -> Sequence[Reference]:
        """The foreign keys of the model."""
        return references_of(self.mapper)

    @cached_property
    def writable(self) -> Mapping[str, Relationship]:
        """The relationships that can be written, by name."""
        return writable_relations(self.writable_relations, self.mapper)

    def on(self, dialect: sa.Dialect) -> Model:
        """Return the model on a database. Several applications with different databases
        may share a service.
        """
        # Types may ask for the version of the server, which is not known at the start.
        key = dialect.name, dialect.server_version_info is None

        if key not in self._models:
            check_driver(dialect, current_app.config if has_app_context() else {})
            self._models.setdefault(key, Model(self, dialect))

        return self._models[key]

    @property
    def current(self) -> Model:
        """The model on the database of the call in progress."""
        return self.on(self.database.dialect)

    def follow(
        self, relationship: Relationship, service: Service | None
    ) -> ServedModel:
        """Return the model at the end of a relationship. The application names all
        fields of a model without a service.
        """
        served = getattr(service and service.capabilities, "served", None)

        if isinstance(served, ServedModel):
            return served

        mapper = relationship.mapper

        if mapper not in self._unserved:
            keys = [
                mapper.get_property_by_column(each).key for each in mapper.primary_key
            ]
            # A hidden field needs no form on the wire.
            hidden = set(values_of(mapper)).difference(keys)
            self._unserved[mapper] = ServedModel(
                mapped_class=mapper.class_,
                source=self.source,
                options=FieldOptions(hidden=hidden),
                syntax=self.syntax,
            )

        return self._unserved[mapper]

    def scope_of(self, params: Params | None, model: Model) -> Scope:
        """Return the scope of a caller, or of clients before any field rule."""
        if params is not None and params.provider is None:
            return model.application

        if params is None or not (self.rules.visible or self.rules.writable):
            return model.clients

        return model.clients.of_user(self.rules, params.user)

    def open_reading(
        self, params: Params, *, has_groups: bool = False
    ) -> tuple[Reading, ResolvedCall]:
        """Return an object that reads, and the call with its query resolved."""
        reading = self.database.reading(locking=params.lock)
        model = self.on(reading.dialect)
        return reading, self._resolve(params, model, has_groups=has_groups)

    def open_writing(self, params: Params) -> tuple[Writing, ResolvedCall]:
        """Return an object that writes, and the call with its query resolved, and with
        guards of the fields in its body.
        """
        # A converter may decide by other records.
        if self.options.converters:
            self.database.begin(writes=True)

        writing = self.database.writing()
        call = self._resolve(params, self.on(writing.dialect))
        writing.scope = call.scope

        names, written_if = params._state.client_fields, call.scope.written_if
        guards = {name: each for name, each in written_if.items() if name in names}
        return writing, call._replace(guards=guards) if guards else call

    def _resolve(
        self, params: Params, model: Model, *, has_groups: bool = False
    ) -> ResolvedCall:
        scope, state = self.scope_of(params, model), params._state
        is_client = params.provider is not None
        query = scope.everything
        shown_if: dict[str, ResolvedQuery] = {}
        rule_fields: Sequence[Field] = ()
        links: Sequence[Link] = ()

        if params.query or scope.shown_if:
            paths = CallPaths(model, scope, params)
            query = self._parse(params, paths, has_groups=has_groups)
            shown_if = dict(paths.shown_if)

        if state.is_whole:
            query, rule_fields = self._whole(params, model, query)

        if state.rules:
            query = model.within_rules(query, params)

        if shown_if:
            names = {field.name for field in query.selected}
            shown_if = {name: each for name, each in shown_if.items() if name in names}

        if query.populate:
            links = links_of(self, query.populate, params, scope.plain)

        return ResolvedCall(
            *(model, scope, params, query, links),
            selection=_selection(query, shown_if, [scope, model.clients], links),
            rule_fields=[field.name for field in rule_fields],
            is_private=bool(rule_fields or (is_client and self.rules.visible)),
        )

    def _parse(
        self, params: Params, paths: CallPaths, *, has_groups: bool
    ) -> ResolvedQuery:
        """Return the query of a call as its caller may ask it."""
        is_client = params.provider is not None
        grouped = self.aggregates if is_client else None

        if has_groups and (grouped or not is_client) and is_grouping(params.query):
            groups, rest = resolve_groups(params.query, paths, grouped)
            return replace(resolve(rest, self.syntax, paths), groups=groups)

        return resolve(params.query, self.syntax, paths)

    def _whole(
        self, params: Params, model: Model, query: ResolvedQuery
    ) -> tuple[ResolvedQuery, Sequence[Field]]:
        """Return a query of whole records, of which the caller gets a part, and the
        hidden fields in them that decide who else does.
        """
        rule_fields: list[Field] = []
        whole = model.application.everything

        if params.provider is not None:
            service, whole = params._state.service, model.clients.everything
            names = service.rules.hidden_fields if service else frozenset()
            rule_fields = [model.fields.stored[name] for name in sorted(names)]

        selected = (*whole.selected, *rule_fields) if rule_fields else whole.selected

        if query.selected is not selected:
            query = replace(query, selected=selected)

        return query, rule_fields


class Model:
    """A model on one kind of database. It alone knows the dialect: the fields, scopes,
    plans and writers that are made once for it.

    :param dialect: The dialect of the database. By default, none: the fields have the
        types of every database.
    """

    def __init__(self, served: ServedModel, dialect: sa.Dialect | None) -> None:
        self.served = served
        """The model with the options of its service."""
        self.fields = Fields(served.mapped_class, served.options, dialect)
        """The fields."""
        self.application = Scope.of_application(self.fields)
        """The scope of the application."""
        self.clients = Scope.of_clients(self.fields)
        """The scope of clients before any field rule."""
        self.plans = Plans(self.fields)
        """The plans of reads."""
        keys = served.link_keys if served.syntax.populates else {}
        self.bodies = Bodies(self.fields, frozenset(served.writable), keys)
        """The reader of bodies."""
        self._fast_path = FastPath(self.fields)
        self._unit_of_work = UnitOfWork(self)

    def within_rules(self, query: ResolvedQuery, params: Params) -> ResolvedQuery:
        """Return a query of the records that meet the rules of a call, too."""
        for rule in params._state.rules or ():
            query = query.within(self._rule(rule))

        return query

    def conditions(
        self, queries: Mapping[str, Record], paths: CallPaths | None = None
    ) -> dict[str, ResolvedQuery]:
        """Return the conditions of fields, by their names."""
        return {name: self._rule(query, paths) for name, query in queries.items()}

    @property
    def paths(self) -> CallPaths:
        """The paths that rules follow."""
        return CallPaths(self, self.application, Params())

    def paths_beside(self, ids: Sequence[t.Any]) -> CallPaths:
        """Return the paths that rules follow from records that a call has written. None
        of them leads to one of these, so that no record proves its own right.
        """
        query = {self.fields.id.name: {"$nin": ids}}
        mapper, others = self.fields.mapper, self._rule(query)
        return CallPaths(self, self.application, Params(), beside=(mapper, others))

    @cached_property
    def names_changing(self) -> frozenset[str]:
        """The names of the columns that an update may change, whatever it writes."""
        is_plain, columns = self._fast_path.is_plain, self.fields.columns
        return self._fast_path.names_updated if is_plain else frozenset(columns)

    def _rule(self, query: Record, paths: CallPaths | None = None) -> ResolvedQuery:
        """Return a query of the application."""
        try:
            return resolve(query, self.served.syntax, paths or self.paths)
        except BadRequest as error:
            name = self.fields.model.__name__
            raise RuntimeError(WRONG_RULE.format(name=name, error=error)) from error

    def write(self, write: Write) -> list[Record]:
        """Return the records that are written, by one statement where that is enough,
        or by the unit of work.
        """
        is_enough = self._fast_path.is_enough(write)
        writer = self._fast_path if is_enough else self._unit_of_work
        records: list[Record] = getattr(writer, write.method)(write)

        if not records and write.id is not None:
            raise not_found(write.id)

        return records


def _selection(
    query: ResolvedQuery,
    shown_if: Mapping[str, ResolvedQuery],
    scopes: Sequence[Scope],
    links: Sequence[Link],
) -> Selection:
    """Return the columns of a query. Those of all fields of a scope are made once."""
    if not links and not shown_if:
        for scope in scopes:
            if query.selected is scope.everything.selected:
                return scope.selection

    columns = tuple([(link.name, link.column) for link in links])
    return Selection(query.selected, columns, conditions=shown_if)
