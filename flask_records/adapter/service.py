"""The six methods of a service over one model."""

from __future__ import annotations

import logging
import typing as t
from collections.abc import Collection
from collections.abc import Mapping
from functools import cached_property

import sqlalchemy as sa

from ..errors import Conflict
from ..names import names_of
from ..pagination import Page
from ..pagination import Pagination
from ..query import FieldOptions
from ..query import FieldRules
from ..query import Fields
from ..query import Matching
from ..query import Query
from ..query.converters import converters_of
from ..query.field_conditions import show
from ..query.field_conditions import unmet
from ..query.field_options import constraints_of
from ..query.operators import operators_of
from ..query.operators import syntax_of
from ..signals import METHODS
from ..signals import READS
from ..transaction import Transaction
from .app_sessions import add_session
from .bodies import refuse
from .database import Database
from .eligibility import Eligibility
from .eligibility import Reason
from .guards import Guards
from .guards import UNGUARDED
from .multi import Multi
from .places import add_place_of_conflict
from .populate import Populate
from .populate import populated
from .reads import identifier
from .reads import not_found
from .reads import read_many
from .related import Relations
from .related import writable_relations
from .single_statement import SingleStatement
from .sources import known_bind
from .sources import session_of_app
from .unchanged import changed
from .unit_of_work import UnitOfWork
from .unwritable import is_known_as_read_only
from .view import ResolvedCall
from .view import View
from .view import Views

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Hashable
    from collections.abc import Sequence

    from flask import Flask
    from sqlalchemy import orm

    from ..context import Params
    from ..query import Operator
    from ..query.converters import Converters
    from ..query.field_rules import Permissions
    from ..query.fields import Body
    from ..typing import FieldRule
    from ..typing import Id
    from ..typing import Record
    from .related import WritableRelation
    from .sources import SessionSource
    from .writing import Writing


logger = logging.getLogger(__package__)

READ_ONLY: t.Final = (
    "'%s' is mapped to a view that the database does not write, so that %s are answered"
    " with 405. Add the service with methods=['find', 'get']."
)

MAX_VIEWS: t.Final = 64
"""The number of sets of fields with rules whose statements are remembered."""

RULED: t.Final = """\
'{option}' has a rule for '{name}', which clients can't see or write anyway, or which \
identifies the records.\
"""


class SQLAlchemyService:
    """A service over one model. Give it to :meth:`.FlaskRecords.add`.

    Reads select columns. Writes go through instances of the model, so that its
    defaults, validators, cascades and events apply, or by one statement if there is
    none of these: :class:`.Reason` lists what to look for.

    :param model: The mapped class.
    :param session: The source of sessions: a ``sessionmaker``, a ``scoped_session``,
        or a function that returns a session. The session of Flask-SQLAlchemy or
        Flask-SQLAlchemy-Lite by default.
    :param id: The name of the identifier field. The primary key by default.
    :param events: The names of the custom events of the service.
    :param paginate: ``default`` and ``max``, the sizes of a page. No pages by default.
    :param whitelist: The names that queries may use besides those of every service,
        such as ``$regex`` or ``$populate``. See section 2.4 of the specification.
    :param multi: Allow create, patch and remove of many records, or those named. None
        by default. A client names at most ``RECORDS_BOUNDS["multi"]`` in one call, or
        the number in a mapping, such as ``{"create": 100}``.
    :param multi_needs_query: Refuse a patch or remove of many by a client whose query
        has no condition, which would write all records. Off by default.
    :param hidden: Fields that no client ever sees, nor can filter, sort or select by.
        Clients can write them.
    :param readonly: Fields that no client can write. Hooks and calls in Python can.
    :param write_once: Fields that a client can write in create, and never change.
    :param fields: The only fields that clients can see, write, filter, sort or select
        by, besides the identifier. All but the hidden ones by default.
    :param exclude: Columns and hybrid properties that are no fields, for nobody.
    :param visible: Rules for the fields that a user may see, by name: functions of the
        user, or of ``None``, that return ``True`` for all records, ``False`` for none,
        or the query of those in which the user sees the field.
    :param writable: Rules for the fields that a user may write, by name: functions that
        return the same.
    :param client_ids: Let clients choose primary keys that the database counts up. Off
        by default: one large number would use up the numbers of the table.
    :param constraints: The fields that rules of the database are about, and a phrase
        that follows their names in an error: ``{"ck_price": ("price", "must be
        positive")}``, by the names that the rules have in the database.
    :param converters: Conversions of values, by the type of a column, by its Python
        type, or by the name of a field: :class:`.Converter`.
    :param bigints: ``"text"`` to send clients the integers of 64 bits as text, since
        JavaScript has no exact form of those beyond 2 to the power of 53. Numbers by
        default.
    :param operators: Operators of the application, by their names.
    :param populate: The path of the service that shows a relationship, by the name of
        the relationship. The first service over its model by default.
    :param writable_relations: Relationships that bodies may name, with the identifiers
        of records that the caller may see. None by default.

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
        paginate: Mapping[str, int] | Pagination | None = None,
        whitelist: Collection[str] = (),
        multi: bool | Collection[str] | Mapping[str, int] = False,
        multi_needs_query: bool = False,
        hidden: Collection[str] = (),
        readonly: Collection[str] = (),
        write_once: Collection[str] = (),
        fields: Collection[str] | None = None,
        exclude: Collection[str] = (),
        visible: Mapping[str, FieldRule] | None = None,
        writable: Mapping[str, FieldRule] | None = None,
        client_ids: bool = False,
        constraints: Mapping[str, tuple[str | Sequence[str], str]] | None = None,
        converters: Converters | None = None,
        bigints: t.Literal["number", "text"] = "number",
        operators: Mapping[str, Operator] | None = None,
        populate: Mapping[str, str] | None = None,
        writable_relations: Collection[str] = (),
    ) -> None:
        _check_class(model)
        self.model = model
        """The mapped class."""
        self.events = names_of("events", events)
        """The names of the custom events."""
        self.pagination = Pagination.of(paginate)
        """The sizes of a page."""
        self.multi = Multi(multi, needs_query=multi_needs_query)
        """The methods that take many records, and how many."""

        whitelist = names_of("whitelist", whitelist)
        self._operators = operators_of(whitelist, operators or {})
        self._syntax = syntax_of(whitelist, self._operators)
        self._options = FieldOptions(
            id=id,
            hidden=names_of("hidden", hidden),
            readonly=names_of("readonly", readonly),
            write_once=names_of("write_once", write_once),
            listed=None if fields is None else names_of("fields", fields),
            exclude=names_of("exclude", exclude),
            client_ids=client_ids,
            constraints=constraints_of(constraints or {}),
            converters=converters_of(converters or {}),
        )
        self._bigints = _bigints(bigints)
        self.field_rules = FieldRules(visible or {}, writable or {})
        """The rules for the fields that a user may see or write."""
        self._ruled_views: dict[Hashable, Views] = {}
        self._source = session
        self._populate_paths = _paths(populate or {})
        self._writable_relations = writable_relations
        self._writers: dict[View, tuple[SingleStatement, UnitOfWork]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model.__name__}>"

    @cached_property
    def id(self) -> str:
        """The name of the identifier field."""
        return self._application.fields.id.name

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The fields that no client sees."""
        return self._clients.fields.hidden

    @property
    def client_fields(self) -> Fields:
        """The fields that clients know of, as far as no rule hides them."""
        return self._clients.fields

    @property
    def own_methods(self) -> Collection[Callable[..., t.Any]]:
        """The functions of the class that return records of the model and no others."""
        return [vars(SQLAlchemyService)[method] for method in METHODS]

    @cached_property
    def relationships(self) -> frozenset[str]:
        """The names that ``$populate`` takes, which no event holds."""
        return frozenset(self._application.fields.mapper.relationships.keys())

    @cached_property
    def text_fields(self) -> frozenset[str]:
        """The fields whose integers clients get as text."""
        if self._bigints == "number":
            return frozenset()

        fields = self._application.fields
        return frozenset(each.name for each in fields if each.holds_big_integers)

    @cached_property
    def _application(self) -> Views:
        return self._make_views(self._options.for_application())

    @cached_property
    def _clients(self) -> Views:
        return self._make_views(self._options)

    @cached_property
    def _database(self) -> Database:
        return Database(self._source, self._application.fields.mapper)

    @cached_property
    def _writable(self) -> Mapping[str, WritableRelation]:
        mapper = t.cast("orm.Mapper[t.Any]", sa.inspect(self.model))
        names = self._writable_relations
        return writable_relations(names, mapper, self._populate_paths)

    @cached_property
    def _populate(self) -> Populate:
        return Populate(self._clients.fields, self._populate_paths)

    @cached_property
    def _eligibility(self) -> Eligibility:
        return Eligibility(self._application.fields, self._writable.keys())

    def fields_for(self, params: Params) -> Fields:
        """Return the fields that a caller may name."""
        return self._views(params, self._permissions(params)).fields

    def begin(self, method: str) -> None:
        """Join the transaction in progress. A call that may write, as each does but
        find and get, takes SQLite's write lock here, before its hooks read records that
        they decide by.

        :param method: The name of the method that is called.
        """
        if method in READS:
            self._database.begin_reading()
        else:
            self._database.begin_writing()

    def begin_later(self, method: str) -> None:
        """Join the transaction in progress, as :meth:`begin` does. A call that may
        write takes a connection, and SQLite's lock, when it first uses the database.

        :param method: The name of the method that is called.
        """
        if method in READS:
            self._database.begin_reading()
        else:
            self._database.begin_writing_later()

    def check(self, app: Flask, methods: Collection[str] = METHODS) -> None:
        """Refuse options that do not fit the model and a database that changes the
        values of a column. Log a warning for a column that holds less than it says, and
        for a view that can't be written, if the application has used its database
        already. A database that is not known before the first call is looked at then.

        :param app: The application.
        :param methods: The methods of the service. All by default.
        :raises TypeError: The model is not mapped.
        :raises ValueError: An option names something that does not exist, or the
            database changes the values of a column.
        """
        self._populate.check()
        self._check_rules()
        add_session(app, self._source)

        with app.app_context():
            bind = known_bind(self._source, self._application.fields.mapper)

        if bind is None:
            return

        fields, name = self._application.on(bind.dialect).fields, self.model.__name__

        for field in fields:
            if field.conversion.caution is not None and field.name in fields.columns:
                app.logger.warning(
                    "'%s.%s': %s", name, field.name, field.conversion.caution
                )

        writes = [method for method in methods if method not in READS]

        if writes and is_known_as_read_only(bind, fields.mapper):
            app.logger.warning(READ_ONLY, name, ", ".join(writes))

    def matching(self, records: Sequence[t.Any]) -> Matching:
        """Return an object that decides which of some records meet queries.

        :param records: The records, typed or as they are in JSON.
        """
        with Transaction(writes=False):
            dialect = self._database.reading().dialect

        fields = self._application.on(dialect).fields
        return Matching(fields, self._syntax, records)

    def find(self, params: Params) -> list[Record] | Page:
        """Return the records that match the query, or a page of them.

        :raises BadRequest: A part of the query is not understood.
        """
        reading = self._database.reading()
        call = self._resolved(params, reading.dialect, self._permissions(params))
        pagination = self.pagination if params.paginate else Pagination()
        limit, skip = pagination.limit(call.query.limit), call.query.skip

        # One connection for both, given back before other services are called.
        with reading:
            rows = read_many(reading, call, limit)
            # A page that is not full tells the total, unless it is empty after a skip.
            is_last = limit is None or (len(rows) < limit and (rows or not skip))
            is_counted = pagination.is_on and not is_last
            total = skip + len(rows)

            if is_counted:
                total = reading.rows(call.view.plans.count(call.query))[0][0]

        records = call.records(rows)

        if limit is None or not pagination.is_on:
            return records

        return Page(total, limit, skip, records)

    def get(self, id: Id, params: Params) -> Record:
        """Return one record.

        :raises NotFound: There is no such record, or it does not match the query.
        """
        reading = self._database.reading()
        call = self._resolved(params, reading.dialect, self._permissions(params))
        value = identifier(call.view.fields, id)

        with reading:
            plan = call.view.plans.one(call.query, call.selection, value)
            rows = reading.rows(plan)

        return _one(call.records(rows), id)

    def create(
        self, data: Record | list[Record], params: Params
    ) -> Record | list[Record]:
        """Return the new record, or a list of them.

        :raises MethodNotAllowed: The data is a list and ``multi`` does not allow it.
        :raises BadRequest: The data does not fit the fields.
        :raises Conflict: The data contradicts a record that is there.
        """
        is_list = isinstance(data, list)

        if is_list:
            self.check_multi("create", params)

        writing, call = self._writing(params)
        bodies = call.view.bodies.created(data, params.client_fields)
        call = self._guarded(call)
        writer = self._writer("insert", writing, call, bodies)

        try:
            records = writer.create(writing, call, bodies, is_list=is_list)
        except Conflict as error:
            if is_list:
                add_place_of_conflict(error, bodies, writing.is_stored)

            raise

        return records if is_list else records[0]

    def update(self, id: Id, data: Record, params: Params) -> Record:
        """Return the record, replaced by the data.

        :raises NotFound: There is no such record, or it does not match the query.
        :raises BadRequest: The data does not fit the fields.
        """
        writing, call = self._writing(params)
        body = call.view.bodies.replaced(data, params.client_fields)
        call = self._guarded(call)
        return _one(self._write(writing, call, id, body), id)

    def patch(self, id: Id, data: Record, params: Params) -> Record | list[Record]:
        """Return the record with the data merged into it, or all that match.

        :raises MethodNotAllowed: The id is ``None`` and ``multi`` does not allow it.
        :raises NotFound: There is no such record, or it does not match the query.
        :raises BadRequest: The data does not fit the fields.
        """
        if id is None:
            self.check_multi("patch", params)

        writing, call = self._writing(params)
        is_many = id is None
        body = call.view.bodies.merged(data, params.client_fields, is_many=is_many)
        call = self._guarded(call)
        records = self._write(writing, call, id, body)
        return records if is_many else _one(records, id)

    def remove(self, id: Id, params: Params) -> Record | list[Record]:
        """Return the record that is removed, or all that match.

        :raises MethodNotAllowed: The id is ``None`` and ``multi`` does not allow it.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        if id is None:
            self.check_multi("remove", params)

        writing, call = self._writing(params)
        writer = self._writer("delete", writing, call, is_many=id is None)
        records = writer.remove(writing, call, id)
        return records if id is None else _one(records, id)

    def check_multi(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a method on many records, unless ``multi`` allows as many.

        :param method: The name of the method.
        :param number: The number of records.
        :raises MethodNotAllowed: The method takes one record only.
        :raises BadRequest: A client may not name as many.
        """
        self.multi.check(method, params, number)

    def _make_views(self, options: FieldOptions) -> Views:
        fields = Fields(self.model, options)
        shown = populated(fields) if self._syntax.populates else {}
        relations = Relations(shown.keys(), self._writable)
        return Views(fields, self._operators, relations)

    def _permissions(self, params: Params) -> Permissions | None:
        """Return what the rules for fields say for the caller, if there are any."""
        if params.provider is None or not self.field_rules:
            return None

        return self.field_rules.of(params.user)

    def _views(self, params: Params, permissions: Permissions | None) -> Views:
        if params.provider is None:
            return self._application

        return self._clients if permissions is None else self._views_with(permissions)

    def _views_with(self, permissions: Permissions) -> Views:
        """Return the views of clients for whom the rules say the same."""
        views = self._ruled_views.get(permissions.key)

        if views is None:
            options = self._options.restricted(
                permissions.hidden, permissions.readonly, permissions.conditional
            )
            views = self._make_views(options)

            if len(self._ruled_views) >= MAX_VIEWS:
                self._ruled_views.clear()
                self._writers.clear()

            self._ruled_views[permissions.key] = views

        return views

    def _resolved(
        self, params: Params, dialect: sa.Dialect, permissions: Permissions | None
    ) -> ResolvedCall:
        view = self._views(params, permissions).on(dialect)
        parsed = Query.parse(params.query, self._syntax)
        query, names = view.resolve(parsed), view.fields.names

        if permissions is not None and permissions.shown_if:
            conditions = view.conditions(permissions.shown_if, self._syntax)
            conditions = unmet(query, conditions)
            query = show(query, parsed, conditions)
            names -= {name for each in conditions for name in each.names}

        links = (
            self._populate.links(query.populate, params, names)
            if query.populate
            else ()
        )
        selection = view.selection(query, links)
        database = self._database
        return ResolvedCall(
            view, params, query, links, selection, database, permissions
        )

    def _guarded(self, call: ResolvedCall) -> ResolvedCall:
        """Return a call that writes, with the guards of the fields in its body."""
        sent, view = call.params.client_fields, call.view
        permissions = call.permissions
        write_once = view.fields.write_once.intersection(sent)
        rules = {} if permissions is None else permissions.written_if
        written_if = {name: rules[name] for name in rules if name in sent}

        if not write_once and not written_if:
            return call

        conditions = view.conditions(written_if, self._syntax)
        # Who does not see a value must not find it out by guesses.
        hidden = {} if permissions is None else permissions.shown_if
        visible = view.fields.names - hidden.keys()
        return call._replace(guards=Guards(write_once, tuple(conditions), visible))

    def _writing(self, params: Params) -> tuple[Writing, ResolvedCall]:
        """Return an object that writes, and the call with its query resolved."""
        permissions = self._permissions(params)
        fields = self._views(params, permissions).fields
        writing = self._database.writing(fields, params.client_fields)
        return writing, self._resolved(params, writing.dialect, permissions)

    def _check_rules(self) -> None:
        """Refuse rules for fields that clients do not see or write.

        :raises ValueError: A name is not a field, or identifies the records.
        """
        fields, rules = self._clients.fields, self.field_rules

        for option, names in (("visible", rules.visible), ("writable", rules.writable)):
            is_known = (
                fields.is_sent if option == "writable" else fields.names.__contains__
            )

            for name in names:
                if name in fields.fixed or not is_known(name):
                    raise ValueError(RULED.format(option=option, name=name))

    def _write(
        self, writing: Writing, call: ResolvedCall, id: Id, body: Body
    ) -> list[Record]:
        values, errors, unwritten = body

        if unwritten:
            errors = errors | changed(writing, call, id, unwritten)

        refuse(errors)
        writer = self._writer("update", writing, call, [values], is_many=id is None)
        return writer.patch(writing, call, id, values)

    def _writer(
        self,
        verb: str,
        writing: Writing,
        call: ResolvedCall,
        bodies: Sequence[Record] = (),
        *,
        is_many: bool = False,
    ) -> SingleStatement | UnitOfWork:
        reason = (
            self._eligibility.reason(verb, writing, call.query, bodies, is_many=is_many)
            if call.guards is UNGUARDED
            else Reason.GUARDS
        )
        writers = self._writers.get(call.view)

        if writers is None:
            writers = self._writers[call.view] = (
                SingleStatement(call.view, self._eligibility),
                UnitOfWork(call.view, self.multi),
            )

        if logger.isEnabledFor(logging.DEBUG):
            way = "one statement" if reason is None else f"unit of work: {reason.value}"
            logger.debug("%s: %s by %s.", self.model.__name__, verb, way)

        single_statement, unit_of_work = writers
        return single_statement if reason is None else unit_of_work


def _check_class(model: t.Any) -> None:
    """Refuse a model that is not a class."""
    if isinstance(model, type):
        return

    if isinstance(model, sa.Table):
        raise TypeError(
            f"'{model.name}' is a table. Map a class to it, and give the class:"
            " SQLAlchemyService(Model)."
        )

    name = type(model).__name__
    raise TypeError(
        f"The model has to be a class, not an instance of '{name}'. Give the class:"
        f" SQLAlchemyService({name if sa.inspect(model, False) else 'Model'})."
    )


def _bigints(value: t.Any) -> str:
    if value not in ("number", "text"):
        raise ValueError(f"'bigints' is 'number' or 'text', not {value!r}.")

    return t.cast("str", value)


def _paths(populate: t.Any) -> Mapping[str, str]:
    if not isinstance(populate, Mapping):
        raise TypeError(
            "'populate' maps relationships to paths of services:"
            f' populate={{"author": "users"}}, not {populate!r}.'
        )

    return populate


def _one(records: list[Record], id: Id) -> Record:
    """Return the record of an identifier.

    :raises NotFound: There is no such record.
    """
    if not records:
        raise not_found(id)

    return records[0]
