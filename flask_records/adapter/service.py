"""The six methods of a service over one model."""

from __future__ import annotations

import typing as t
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import BadRequest
from ..errors import MethodNotAllowed
from ..errors import NotFound
from ..pagination import Page
from ..pagination import Pagination
from ..query import Fields
from ..query import Query
from ..query import Syntax
from ..query import Translator
from ..query.operators import BUILT_IN
from ..query.operators import BUILT_IN_GROUPS
from ..query.operators import GROUPS
from ..query.operators import ON_WHITELIST
from ..query.values import cast
from ..signals import EVENTS
from ..signals import METHODS
from .database_errors import translated
from .populate import Populate
from .reading import Selection
from .session import joined_session
from .session import session_of_app
from .session import SessionScope
from .writing import Writer

if t.TYPE_CHECKING:
    from ..context import Params
    from ..query import Operator
    from ..typing import Id
    from ..typing import Record
    from .session import SessionSource

CHUNK: t.Final = 500
"""How many primary keys one statement names."""


@dataclass(frozen=True)
class Audience:
    """What one kind of caller knows of a model: a client, or the application."""

    fields: Fields
    translator: Translator
    writer: Writer

    @classmethod
    def of(cls, fields: Fields, operators: Mapping[str, Operator]) -> Audience:
        """Return what a caller knows who knows of some fields."""
        return cls(fields, Translator(fields, operators), Writer(fields))


class SQLAlchemyService:
    """A service over one model. Give it to :meth:`.FlaskRecords.add`.

    Reads select columns, writes go through instances of the model, so that its
    defaults, validators, cascades and events apply.

    :param model: The mapped class.
    :param session: Where sessions come from: a ``sessionmaker``, a ``scoped_session``,
        or a function that returns a session. The session of Flask-SQLAlchemy or
        Flask-SQLAlchemy-Lite by default.
    :param id: The name of the identifier field. The primary key by default.
    :param events: The names of the custom events of the service.
    :param paginate: ``default`` and ``max``, the sizes of a page. No pages by default.
    :param whitelist: What the query may use beyond what every service understands,
        such as ``$regex`` or ``$populate``. See section 2.4 of the specification.
    :param multi: Allow create, patch and remove of many records, or those named. None
        by default.
    :param hidden: Fields that no client ever sees, nor can filter, sort or select by.
        He can write them.
    :param readonly: Fields that nobody can write through the service.
    :param operators: Operators of the application, by their names.
    :param populate: The path of the service that shows a relationship, by the name of
        the relationship. The first service over its model by default.
    :raises ValueError: An option names something that is not there.
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
        multi: bool | Collection[str] = False,
        hidden: Collection[str] = (),
        readonly: Collection[str] = (),
        operators: Mapping[str, Operator] | None = None,
        populate: Mapping[str, str] | None = None,
    ) -> None:
        self.model = model
        """The mapped class."""
        self.events = tuple(events)
        """The names of the custom events."""
        self.hidden = frozenset(hidden)
        """The fields that no client sees."""
        self.pagination = Pagination.of(paginate)
        """The sizes of a page."""
        self.multi = _multi_methods(multi)
        """The methods that take many records."""

        known = _operators(whitelist, operators or {})
        self._syntax = Syntax(
            operators=frozenset({*known, *({"$not"} & set(whitelist))}),
            groups=frozenset({*BUILT_IN_GROUPS, *(set(GROUPS) & set(whitelist))}),
            populates="$populate" in whitelist,
        )
        everything = Fields(model, id, readonly=readonly)
        visible = Fields(model, id, hidden, readonly)
        self.id = everything.id.name
        """The name of the identifier field."""
        self._inside = Audience.of(everything, known)
        self._outside = Audience.of(visible, known)
        self._mapper = everything.mapper
        self._primary_key = [
            self._mapper.get_property_by_column(column).class_attribute
            for column in self._mapper.primary_key
        ]
        self._session_source = session
        self._populate = Populate(visible, populate or {})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model.__name__}>"

    def fields_for(self, params: Params) -> Fields:
        """Return the fields that a caller knows of.

        :param params: The params of his call.
        """
        return self._audience(params).fields

    def begin(self, method: str) -> None:
        """Join the transaction in progress. A call that writes takes SQLite's write
        lock here, before its hooks read what they decide by.

        :param method: The name of the method that is called.
        """
        scope = self._joined()

        if method in EVENTS:
            scope.begin_writing(self._mapper)

    def find(self, params: Params) -> list[Record] | Page:
        """Return the records that match the query, or a page of them.

        :raises BadRequest: A part of the query is not understood.
        """
        audience, query = self._parse(params)
        pagination = self.pagination if params.paginate else Pagination()
        limit = pagination.limit(query.limit)
        session = self._joined().session
        records = self._select(session, audience, query, limit, params)

        if limit is None or not pagination.is_on:
            return records

        # A page that is not full tells the total, unless it is empty after a skip.
        if len(records) < limit and (records or not query.skip):
            return Page(query.skip + len(records), limit, query.skip, records)

        with translated():
            total = session.execute(audience.translator.count(query)).scalar_one()

        return Page(total, limit, query.skip, records)

    def get(self, id: Id, params: Params) -> Record:
        """Return one record.

        :raises NotFound: There is no such record, or it does not match the query.
        """
        audience, query = self._parse(params)
        one = replace(query, limit=None, skip=0)
        session = self._joined().session
        condition = self._has_id(audience, id)
        records = self._select(session, audience, one, 1, params, condition)

        if not records:
            raise _not_found(id)

        return records[0]

    def create(
        self, data: Record | list[Record], params: Params
    ) -> Record | list[Record]:
        """Return the new record, or a list of them.

        :raises MethodNotAllowed: The data is a list and ``multi`` does not allow it.
        :raises BadRequest: The data does not fit the fields.
        :raises Conflict: The data contradicts a record that is there.
        """
        is_many = isinstance(data, list)
        bodies = data if isinstance(data, list) else [data]

        if is_many:
            self._check_multi("create")

        audience, query = self._parse(params)
        # There is nothing to filter, but a query that is wrong is refused everywhere.
        audience.translator.select(query, ())
        selection = self._selection(audience, query, params, self._primary_key)
        every = audience.writer.created(bodies)
        session = self._joined().session
        instances = [audience.writer.instance(values) for values in every]

        with translated(audience.fields, {name for values in every for name in values}):
            session.add_all(instances)
            session.flush()

        records = self._read_back(session, selection, instances, params)
        return records if is_many else records[0]

    def update(self, id: Id, data: Record, params: Params) -> Record:
        """Return the record, replaced by the data.

        :raises NotFound: There is no such record, or it does not match the query.
        :raises BadRequest: The data does not fit the fields.
        """
        audience, query = self._parse(params)
        values = audience.writer.replaced(data)
        return self._write(audience, query, id, values, params)[0]

    def patch(self, id: Id, data: Record, params: Params) -> Record | list[Record]:
        """Return the record with the data merged into it, or all that match.

        :raises MethodNotAllowed: The id is ``None`` and ``multi`` does not allow it.
        :raises NotFound: There is no such record, or it does not match the query.
        :raises BadRequest: The data does not fit the fields.
        """
        if id is None:
            self._check_multi("patch")

        audience, query = self._parse(params)
        values = audience.writer.merged(data)
        records = self._write(audience, query, id, values, params)
        return records if id is None else records[0]

    def remove(self, id: Id, params: Params) -> Record | list[Record]:
        """Return the record that is removed, or all that match.

        :raises MethodNotAllowed: The id is ``None`` and ``multi`` does not allow it.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        if id is None:
            self._check_multi("remove")

        audience, query = self._parse(params)
        selection = self._selection(audience, query, params, self._primary_key)
        statement = self._matching(audience, query, id)
        session = self._joined().session
        instances = self._locked(session, statement, id)
        records = self._read_back(session, selection, instances, params)

        with translated(audience.fields):
            for instance in instances:
                session.delete(instance)

            session.flush()

        return records if id is None else records[0]

    def _write(
        self, audience: Audience, query: Query, id: Id, values: Record, params: Params
    ) -> list[Record]:
        selection = self._selection(audience, query, params, self._primary_key)
        statement = self._matching(audience, query, id)
        session = self._joined().session
        instances = self._locked(session, statement, id)

        with translated(audience.fields, values):
            for instance in instances:
                audience.writer.assign(instance, values)

            session.flush()

        return self._read_back(session, selection, instances, params)

    def _audience(self, params: Params) -> Audience:
        return self._inside if params.provider is None else self._outside

    def _parse(self, params: Params) -> tuple[Audience, Query]:
        return self._audience(params), Query.parse(params.query, self._syntax)

    def _check_multi(self, method: str) -> None:
        if method not in self.multi:
            raise MethodNotAllowed(f"Can not {method} multiple entries")

    def _has_id(self, audience: Audience, id: Id) -> sa.ColumnElement[bool]:
        field = audience.fields.id

        try:
            value = cast(field.conversion, id, in_query=False)
        except ValueError:
            value = None

        if value is None:
            raise _not_found(id)

        return t.cast("sa.ColumnElement[bool]", field.column == value)

    def _joined(self) -> SessionScope:
        return joined_session(self._session_source)

    def _selection(
        self,
        audience: Audience,
        query: Query,
        params: Params,
        keys: Sequence[t.Any] = (),
    ) -> Selection:
        fields = audience.fields.selected(query.select)
        return Selection(fields, self._populate.links(query.populate, params), keys)

    def _select(
        self,
        session: orm.Session,
        audience: Audience,
        query: Query,
        limit: int | None,
        params: Params,
        *conditions: sa.ColumnElement[bool],
    ) -> list[Record]:
        selection = self._selection(audience, query, params)
        statement = audience.translator.select(
            query, selection.columns, nulls=self._has_large_nulls(session)
        )

        # The statement is made for its checks of the query even if nothing is read.
        if limit == 0:
            return []

        statement = statement.where(*conditions).limit(limit)
        return selection.read(session, statement, params)[0]

    def _matching(
        self, audience: Audience, query: Query, id: Id
    ) -> sa.Select[t.Any] | None:
        """Return the statement that loads the instances to write, or ``None`` if the
        query asks for none of them.
        """
        statement = audience.translator.select(
            query, [self.model], nulls=self._has_large_nulls(self._joined().session)
        )

        if id is not None:
            return statement.where(self._has_id(audience, id)).limit(1).offset(None)

        return None if query.limit == 0 else statement.limit(query.limit)

    def _locked(
        self, session: orm.Session, statement: sa.Select[t.Any] | None, id: Id
    ) -> list[t.Any]:
        """Return the instances to write, which nobody else writes until the commit."""
        if statement is None:
            return []

        statement = (
            statement.options(orm.lazyload("*"))
            .with_for_update(of=self.model)
            .execution_options(populate_existing=True)
        )

        with translated():
            instances = list(session.scalars(statement))

        if id is not None and not instances:
            raise _not_found(id)

        return instances

    def _read_back(
        self,
        session: orm.Session,
        selection: Selection,
        instances: Sequence[t.Any],
        params: Params,
    ) -> list[Record]:
        """Return the records of instances, in their order, as a read gives them."""
        keys = [self._mapper.primary_key_from_instance(each) for each in instances]
        found: dict[tuple[t.Any, ...], Record] = {}

        for start in range(0, len(keys), CHUNK):
            statement = sa.select(*selection.columns).where(
                self._is_one_of(keys[start : start + CHUNK])
            )
            records, identities = selection.read(session, statement, params)
            found.update(zip(identities, records, strict=True))

        try:
            return [found[tuple(key)] for key in keys]
        except KeyError:
            # MariaDB takes the identifier 0 for a request to make one up.
            raise BadRequest(
                "The database does not keep this identifier. Leave it out.",
                errors={self.id: "is not kept by the database"},
            ) from None

    def _is_one_of(self, identities: Sequence[t.Any]) -> sa.ColumnElement[bool]:
        if len(self._primary_key) == 1:
            values = [identity[0] for identity in identities]
            column = self._primary_key[0]
            is_one = column == values[0] if len(values) == 1 else column.in_(values)
            return t.cast("sa.ColumnElement[bool]", is_one)

        return sa.or_(
            *(
                sa.and_(*map(_equal, self._primary_key, identity))
                for identity in identities
            )
        )

    def _has_large_nulls(self, session: orm.Session) -> bool:
        return session.get_bind(self._mapper).dialect.name == "postgresql"


def _equal(column: t.Any, value: t.Any) -> t.Any:
    return column == value


def _not_found(id: Id) -> NotFound:
    return NotFound(f"No record found for id '{id}'")


def _multi_methods(multi: bool | Collection[str]) -> frozenset[str]:
    if isinstance(multi, bool):
        return frozenset(METHODS if multi else ())

    for name in multi:
        if name not in METHODS:
            raise ValueError(f"'multi' names '{name}', which is not a method.")

    return frozenset(multi)


def _operators(
    whitelist: Collection[str], own: Mapping[str, Operator]
) -> dict[str, Operator]:
    known = {**BUILT_IN, **own}

    for name in whitelist:
        if name in ON_WHITELIST:
            known.setdefault(name, ON_WHITELIST[name])
        elif name not in known and name not in (*GROUPS, "$populate"):
            raise ValueError(
                f"'whitelist' names '{name}', which is not known. Give it in"
                " 'operators', or let a before hook take it out of the query."
            )

    return known
