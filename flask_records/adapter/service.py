"""The six methods of a service over one model."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cached_property, partial

import sqlalchemy as sa

from ..database.connections import check_driver
from ..database.joined_session import add_session, session_of_app
from ..database.transaction import Transaction
from ..errors import MethodNotAllowed
from ..names import METHODS
from ..pagination import Page, Pagination
from ..problems import NO_RECORD
from ..query import FieldOptions, FieldRules, Matching, Syntax
from ..query.bounds import refuse
from ..query.column_types import schema_of_class
from ..query.converters import converters_of
from ..query.fields import inner_tables, written_tables
from ..query.paths import key_names
from ..query.plans import PING, Selection
from ..query.syntax import resolve
from ..service import Capabilities
from ..settings import mapping_of, names_of
from .bodies import find_changes
from .call_paths import meets_related
from .fast_path import Write
from .model import ServedModel
from .option_checks import check_options
from .references import find_unseen_references
from .resolved_call import identifier, not_found
from .writing import check_number, multi_of

if t.TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import sqlalchemy as sa
    from flask import Flask

    from ..database.database import Writing
    from ..database.joined_session import SessionSource
    from ..query import Operator, Scope
    from ..query.conversions import Schema
    from ..query.converters import Converters
    from ..service.capabilities import BodyCheck
    from ..service.context import Params
    from ..service.schemas import Schemas
    from ..typing import Id, Record, Rule
    from .bodies import Body
    from .resolved_call import ResolvedCall


NO_CLASS: t.Final = """\
The model has to be a mapped class, SQLAlchemyService(Model), not {model!r}.\
"""

NO_TYPE: t.Final = """\
'extra_fields' gives '{name}' no type that has a form in JSON: {class_!r}. Name one \
such as str, str | None, dt.datetime, list[int] or dict.\
"""


class SQLAlchemyService(Capabilities):
    """A service over one model. Give it to :meth:`.FlaskRecords.add`.

    Reads select columns. Writes go through instances of the model, so that its
    defaults, validators, cascades and events apply, or by one statement if there is
    none of these.

    :param model: The mapped class.
    :param session: The source of sessions: a ``sessionmaker``, a ``scoped_session``,
        or a function that returns a session. The session of Flask-SQLAlchemy or
        Flask-SQLAlchemy-Lite by default.
    :param id: The name of the identifier field. The primary key by default.
    :param events: The names of the custom events of the service.
    :param paginate: ``default`` and ``max``, the sizes of a page, and ``total``, which
        is ``False`` for pages that are not counted. No pages by default.
    :param whitelist: The names that queries may use besides the ones of every service,
        such as ``$regex`` or ``$populate``. See section 2.4 of the specification.
    :param multi: Allow create, patch and remove of many records, or those named. None
        by default. A client names at most ``RECORDS_BOUNDS["multi"]`` in one call.
    :param hidden: Fields that no client ever sees, nor can filter, sort or select by.
        Clients can write them. A column or hybrid property without a form on the wire
        is hidden from Python, too.
    :param readonly: Fields that no client can write. Hooks and calls in Python can.
    :param write_once: Fields that a client can write in create, and never change.
    :param fields: The only fields that clients can see, write, filter, sort or select
        by, besides the identifier. All but the hidden ones by default.
    :param visible: Rules for the fields that a user may see, by name: functions of the
        user, or of ``None``, that return ``True`` for all records, ``False`` for none,
        or the query of those in which the user sees the field, or such a query with
        :class:`.FromUser`.
    :param writable: Rules for the fields that a user may write, by name: functions that
        return the same, or queries.
    :param client_ids: Let clients choose primary keys that the database counts up. Off
        by default: one large number would use up the numbers of the table.
    :param converters: Conversions of values, by the type of a column, or by the name of
        a field: :class:`.Converter`.
    :param operators: Operators of the application, by their names.
    :param populate: The path of the service that shows a relationship, by the name of
        the relationship. The first service over its model by default.
    :param relations: Relationships that queries of clients may follow, as in
        ``room.name``, to fields of the services that show the related records. Hooks of
        these do not run: their rules limit what a query finds by. None by default.
    :param aggregates: Fields that clients may group by, count and sum up, with
        ``$group``, ``$count``, ``$sum``, ``$avg``, ``$min`` and ``$max``. None by
        default.
    :param writable_relations: Lists or sets over a table between two models that bodies
        may name, with the identifiers of records that the caller may see. None by
        default.
    :param extra_fields: The types of fields that hooks add to records, by name, such as
        ``{"url": str}``, for documents, types and ``$select``. None by default.

    The model is looked at when an application is set up or at the first use, whichever
    is first, so that a module can name it before all models are mapped or reflected.

    :raises TypeError: The model is not a class.
    :raises ValueError: An option is not valid.
    """

    def __init__(
        self,
        model: type[t.Any],
        *,
        session: SessionSource = session_of_app,
        id: str | None = None,
        events: Collection[str] = (),
        paginate: Mapping[str, t.Any] | None = None,
        whitelist: Collection[str] = (),
        multi: bool | Collection[str] = False,
        hidden: Collection[str] = (),
        readonly: Collection[str] = (),
        write_once: Collection[str] = (),
        fields: Collection[str] | None = None,
        visible: Mapping[str, Rule] | None = None,
        writable: Mapping[str, Rule] | None = None,
        client_ids: bool = False,
        converters: Converters | None = None,
        operators: Mapping[str, Operator] | None = None,
        populate: Mapping[str, str] | None = None,
        relations: Collection[str] = (),
        aggregates: Collection[str] = (),
        writable_relations: Collection[str] = (),
        extra_fields: Mapping[str, t.Any] | None = None,
    ) -> None:
        if not isinstance(model, type):
            raise TypeError(NO_CLASS.format(model=model))

        self.model: type[t.Any] = model
        """The mapped class."""
        self.events = names_of("events", events)
        """The names of the custom events."""
        self.pagination = Pagination.of(paginate)
        """The sizes of a page."""
        self.multi = multi_of(multi)
        """The methods that take many records."""

        options = FieldOptions(
            id=id,
            hidden=names_of("hidden", hidden),
            readonly=names_of("readonly", readonly),
            write_once=names_of("write_once", write_once),
            listed=None if fields is None else names_of("fields", fields),
            client_ids=client_ids,
            converters=converters_of(converters or {}),
            extra=_extra_schemas(extra_fields),
        )
        self.field_rules = FieldRules(visible, writable)
        """The rules for the fields that a user may see or write."""
        self.served = ServedModel(
            mapped_class=model,
            source=session,
            options=options,
            rules=self.field_rules,
            syntax=Syntax(names_of("whitelist", whitelist), operators),
            populate_paths=mapping_of("populate", populate, '{"author": "users"}', str),
            writable_relations=writable_relations,
            relations=names_of("relations", relations),
            aggregates=names_of("aggregates", aggregates),
        )
        """The model with the options of the service."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model.__name__}>"

    @cached_property
    def id(self) -> str:
        """The name of the identifier field."""
        return self.served.generic.fields.id.name

    @cached_property
    def is_read_only(self) -> bool:  # type: ignore[override]
        """``True`` if the model is mapped to no table that SQLAlchemy writes, but to a
        subquery, or to a union of tables that have equal keys.
        """
        mapper = self.served.mapper
        has_several = len(list(mapper.with_polymorphic_mappers)) > 1
        is_union = has_several and not inner_tables(mapper.selectable)
        return is_union or not written_tables(mapper)

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The fields that no client sees."""
        model = self.served.generic
        return model.fields.names - model.clients.names

    @cached_property
    def relationships(self) -> frozenset[str]:
        """The names that ``$populate`` takes, which no event holds."""
        return frozenset(self.served.mapper.relationships.keys())

    def ping(self, places: set[Hashable]) -> None:
        with Transaction(writes=False):
            reading = self.served.database.reading()

            if reading.place not in places:
                with reading:
                    reading.rows(PING)

                places.add(reading.place)

    def is_own(self, method: str) -> bool:
        """Return ``True`` for a method that no application has replaced."""
        own = vars(SQLAlchemyService).get(method)
        return method not in vars(self) and getattr(type(self), method) is own

    def scope_for(self, params: Params | None) -> Scope:
        return self.served.scope_of(params, self.served.generic)

    def schemas_for(self, params: Params | None) -> Schemas:
        # Only documents need the schemas.
        from .model_schemas import model_schemas

        return model_schemas(self.served, params, self.pagination, self.multi)

    def body_check(self, method: str, params: Params) -> BodyCheck:
        if method not in METHODS:
            return super().body_check(method, params)

        model = self.served.current
        scope = self.served.scope_of(params, model)
        return partial(model.bodies.type_problems, scope, method)

    def begin(self, *, writes: bool) -> None:
        # SQLite's write lock is taken before hooks read records that they decide by.
        self.served.database.begin(writes=writes)

    def check(self, app: Flask, methods: Collection[str] = METHODS) -> None:
        """Refuse options that do not fit the model. Log warnings for what is doubtful.

        :param methods: The methods of the service. All by default.
        :raises TypeError: The model is not mapped.
        :raises ValueError: An option names something that does not exist.
        """
        self._check_database(app)
        check_options(self.served, app, methods)
        add_session(app, self.served.source)

    def check_rule(self, query: Record) -> None:
        resolve(query, self.served.syntax, self.served.generic.paths)

    def _check_database(self, app: Flask) -> None:
        """Refuse a driver that is not known, and what its database can't do. One of
        another source of sessions than an extension, or of an extension that is set up
        later, is refused at the first use.
        """
        if self.served.source is session_of_app and "sqlalchemy" in app.extensions:
            with app.app_context(), Transaction(writes=False):
                # A model may have no database in this application.
                with suppress(sa.exc.UnboundExecutionError):
                    dialect = self.served.database.dialect
                    # Another application may share the service.
                    check_driver(dialect, app.config)
                    self.served.on(dialect)

    def matching(self) -> Matching:
        served = self.served

        with Transaction(writes=False):
            model = served.current

        find_related = partial(meets_related, served)
        return Matching(served.syntax, model.paths, find_related)

    def deciding_names(self, names: Collection[str]) -> frozenset[str]:
        relationships, deciding = self.served.mapper.relationships, set[str]()

        for name in names:
            first, dot, _ = name.partition(".")
            is_path = dot and first in relationships
            deciding |= key_names(relationships[first])[0] if is_path else {name}

        return frozenset(deciding)

    def decides(
        self,
        method: str,
        data_names: Collection[str],
        client_names: Collection[str],
        names: Collection[str],
    ) -> bool:
        """Return ``False`` only if the condition depends on columns, nothing else
        changes these, and the call writes no list and none of them. What a client may
        not write, and sends back, stays as it is.
        """
        model = self.served.generic
        once = model.fields.options.write_once
        changeable = model.clients.writable.difference(once)
        changes = frozenset(data_names) - (frozenset(client_names) - changeable)
        changes |= model.names_changing

        if method == "update":
            changes |= changeable

        deciding = self.deciding_names(names)
        return not (
            names
            and deciding <= model.fields.columns.keys()
            and self.served.writable.keys().isdisjoint(data_names)
            and deciding.isdisjoint(changes)
        )

    def are_met(self, records: Sequence[t.Any], condition: Record) -> bool:
        # No record proves the right of another, or its own.
        name, syntax = self.id, self.served.syntax
        ids = [each.get(name) for each in records if isinstance(each, dict)]

        if None in ids or len(ids) < len(records):
            return False

        writing = self.served.database.writing()
        model = self.served.on(writing.dialect)
        paths = model.paths_beside(ids)
        test = Matching(syntax, paths, lambda *path: None).test(condition)
        results = [test(record) for record in records]

        if None not in results:
            return all(results)

        query = resolve(condition, syntax, paths)
        query = query.within(resolve({name: {"$in": ids}}, syntax, paths))
        selection = Selection(model.fields.identifying)
        plan = model.plans.records(query, selection, locking=True)
        return len(writing.rows(plan, [])) == len(set(ids))

    def find(self, params: Params) -> list[Record] | Page:
        """Return the records that match the query, or a page of them."""
        reading, call = self.served.open_reading(params, has_groups=True)
        pagination = self.pagination if params.paginate else Pagination()
        limit, skip = pagination.limit(call.query.limit), call.query.skip

        # One connection for both, given back before other services are called.
        with reading:
            rows = [] if limit == 0 else call.read_page(reading, limit)
            # A page that is not full gives the total, unless it is empty after a skip.
            is_last = limit is None or (len(rows) < limit and (rows or not skip))
            has_total = pagination.total or limit == 0
            total = skip + len(rows) if has_total else None

            if pagination.is_on and has_total and not is_last:
                total = reading.rows(call.model.plans.count(call.query))[0][0]

        records = call.records(rows)

        if limit is None or not pagination.is_on:
            return records

        return Page(total, limit, skip, records)

    def statement(self, params: Params) -> sa.Select[t.Any]:
        """Return the ``select`` of the records that meet a query."""
        with Transaction(writes=False):
            _, call = self.served.open_reading(params)

        return call.model.plans.statement(call.query, call.selection)

    def get(self, id: Id, params: Params) -> Record:
        """Return one record that matches the query."""
        reading, call = self.served.open_reading(params)
        value = identifier(call.model.fields, id)
        checked = params._state.checked_value
        extra: tuple[t.Any, ...] = ()

        if checked is not None and checked.database.reading().place == reading.place:
            extra = checked.column, checked.parameters

        with reading:
            plan = call.model.plans.records(
                *(call.query, call.selection, 1, value, *extra), locking=params.lock
            )
            rows = reading.rows(plan)

        if not rows:
            raise not_found(id)

        if checked is not None and extra:
            checked.check(rows[0][-1])
            checked.is_checked = True

        return call.records(rows)[0]

    def create(
        self, data: Record | list[Record], params: Params
    ) -> Record | list[Record]:
        """Return the new record, or a list of them."""
        is_list = isinstance(data, list)

        if is_list:
            self.check_multi("create", params)

        writing, call = self.served.open_writing(params)
        bodies = call.model.bodies.read_create(call, data)
        write = Write("create", writing, call, bodies, is_list=is_list)
        problems = {
            f"{index}.{name}" if is_list else name: NO_RECORD
            for index, names in enumerate(find_unseen_references(write))
            for name in sorted(names)
        }
        refuse(problems)
        records = call.model.write(write)
        return records if is_list else records[0]

    def update(self, id: Id, data: Record, params: Params) -> Record:
        """Return the record, replaced by the data."""
        writing, call = self.served.open_writing(params)
        body = call.model.bodies.read_update(call, data)
        return self._write(writing, call, id, body)[0]

    def patch(self, id: Id, data: Record, params: Params) -> Record | list[Record]:
        """Return the record with the data merged into it, or all that match."""
        is_many = id is None

        if is_many:
            self.check_multi("patch", params)

        writing, call = self.served.open_writing(params)
        body = call.model.bodies.read_patch(call, data, is_many=is_many)
        records = self._write(writing, call, id, body)
        return records if is_many else records[0]

    def remove(self, id: Id, params: Params) -> Record | list[Record]:
        """Return the record that is removed, or all that match."""
        if id is None:
            self.check_multi("remove", params)

        writing, call = self.served.open_writing(params)
        records = call.model.write(Write("remove", writing, call, id=id))
        return records if id is None else records[0]

    def check_multi(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a method on many records, unless ``multi`` allows as many."""
        if method not in self.multi:
            raise MethodNotAllowed(f"Can not {method} multiple entries")

        check_number(method, params, number)

    def _write(
        self, writing: Writing, call: ResolvedCall, id: Id, body: Body
    ) -> list[Record]:
        values, errors, unwritten = body
        write = Write("patch", writing, call, [values], id)
        [unseen] = find_unseen_references(write)

        # A front end may send back what the record has, if it sees that.
        readable = unseen & call.scope.plain if id is not None else frozenset()
        errors = errors | dict.fromkeys(unseen - readable, NO_RECORD)
        compared = unwritten | {name: values[name] for name in readable}

        if compared:
            differing = find_changes(write, compared)
            missing = dict.fromkeys(readable & differing.keys(), NO_RECORD)
            errors = errors | differing | missing

        refuse(errors)
        return call.model.write(write)


def _extra_schemas(extra_fields: Mapping[str, t.Any] | None) -> Mapping[str, Schema]:
    """Return the JSON Schemas of fields that hooks add, by name."""
    schemas = {}
    classes = mapping_of("extra_fields", extra_fields, '{"url": str}')

    for name, class_ in classes.items():
        schema = schema_of_class(class_)

        if schema is None:
            raise TypeError(NO_TYPE.format(name=name, class_=class_))

        schemas[name] = schema

    return schemas
