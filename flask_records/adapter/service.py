"""The six methods of a service over one model."""

from __future__ import annotations

import typing as t
from collections.abc import Collection
from collections.abc import Mapping
from dataclasses import replace

from ..pagination import Page
from ..pagination import Pagination
from ..query import Fields
from ..query import Matching
from ..query import Query
from ..query.operators import operators_of
from ..query.operators import syntax_of
from ..signals import READS
from .audience import Audience
from .database_errors import translated
from .multi import Multi
from .populate import Populate
from .reading import not_found
from .reading import Reader
from .session import joined_session
from .session import session_of_app

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import Params
    from ..query import Operator
    from ..typing import Id
    from ..typing import Record
    from .session import SessionSource


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
        by default. A client names at most ``RECORDS_BOUNDS["multi"]`` in one call, or
        the number in a mapping, such as ``{"create": 100}``.
    :param hidden: Fields that no client ever sees, nor can filter, sort or select by.
        He can write them.
    :param readonly: Fields that no client can write. Hooks and calls in Python can.
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
        multi: bool | Collection[str] | Mapping[str, int] = False,
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
        self.multi = Multi(multi)
        """The methods that take many records, and how many."""

        known = operators_of(whitelist, operators or {})
        self._syntax = syntax_of(whitelist, known)
        everything = Fields(model, id, readonly=readonly)
        visible = Fields(model, id, hidden, readonly)
        self.id = everything.id.name
        """The name of the identifier field."""
        self._inside = Audience.of(everything, known)
        self._outside = Audience.of(visible, known)
        self.relationships = frozenset(visible.mapper.relationships.keys())
        """The names of what ``$populate`` shows, which no event holds."""
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
        lock here, before its hooks read what they decide by. A custom method may write.

        :param method: The name of the method that is called.
        """
        scope = joined_session(self._session_source)

        if method not in READS:
            scope.begin_writing(self._inside.fields.mapper)

    def matches(self, record: Record, query: Record) -> bool | None:
        """Return whether a record meets a query, or ``None`` if only the database can
        tell.

        :param record: The record, typed or as it is in JSON.
        :param query: A query of fields.
        :raises BadRequest: The query is not understood.
        """
        return self.matching([record]).test(query)(0)

    def matching(self, records: Sequence[t.Any]) -> Matching:
        """Return what tells which of some records meet queries, as :meth:`matches`
        does, for many queries.

        :param records: The records, typed or as they are in JSON.
        """
        return Matching(self._inside.fields, self._syntax, records)

    def find(self, params: Params) -> list[Record] | Page:
        """Return the records that match the query, or a page of them.

        :raises BadRequest: A part of the query is not understood.
        """
        reader = self._reader(params)
        pagination = self.pagination if params.paginate else Pagination()
        limit, skip = pagination.limit(reader.query.limit), reader.query.skip

        if limit is None or not pagination.is_on:
            return reader.records(limit)

        # One connection for both, given back before other services are called.
        with translated(), reader.scope.reading(reader.mapper):
            rows = reader.rows(limit)
            # A page that is not full tells the total, unless it is empty after a skip.
            is_last = len(rows) < limit and (rows or not skip)
            total = skip + len(rows) if is_last else reader.count()

        return Page(total, limit, skip, reader.selection.records(rows))

    def get(self, id: Id, params: Params) -> Record:
        """Return one record.

        :raises NotFound: There is no such record, or it does not match the query.
        """
        return self._reader(params, is_one=True).record(id)

    def create(
        self, data: Record | list[Record], params: Params
    ) -> Record | list[Record]:
        """Return the new record, or a list of them.

        :raises MethodNotAllowed: The data is a list and ``multi`` does not allow it.
        :raises BadRequest: The data does not fit the fields.
        :raises Conflict: The data contradicts a record that is there.
        """
        bodies = data if isinstance(data, list) else [data]

        if bodies is data:
            self.check_multi("create", params)

        reader = self._reader(params)
        reader.check()
        every = reader.audience.writer.created(data, params.client_fields)
        records = reader.audience.direct.create(reader, every)

        if records is None:
            records = self._create(reader, every)

        return records if bodies is data else records[0]

    def update(self, id: Id, data: Record, params: Params) -> Record:
        """Return the record, replaced by the data.

        :raises NotFound: There is no such record, or it does not match the query.
        :raises BadRequest: The data does not fit the fields.
        """
        reader = self._reader(params, is_one=True)
        values = reader.audience.writer.replaced(data, params.client_fields)
        return t.cast("Record", _one(self._write(reader, id, values), id))

    def patch(self, id: Id, data: Record, params: Params) -> Record | list[Record]:
        """Return the record with the data merged into it, or all that match.

        :raises MethodNotAllowed: The id is ``None`` and ``multi`` does not allow it.
        :raises NotFound: There is no such record, or it does not match the query.
        :raises BadRequest: The data does not fit the fields.
        """
        if id is None:
            self.check_multi("patch", params)

        reader = self._reader(params, is_one=id is not None)
        values = reader.audience.writer.merged(data, params.client_fields)
        return _one(self._write(reader, id, values), id)

    def remove(self, id: Id, params: Params) -> Record | list[Record]:
        """Return the record that is removed, or all that match.

        :raises MethodNotAllowed: The id is ``None`` and ``multi`` does not allow it.
        :raises NotFound: There is no such record, or it does not match the query.
        """
        if id is None:
            self.check_multi("remove", params)

        reader = self._reader(params, is_one=id is not None)
        records = reader.audience.direct.remove(reader, id)

        if records is None:
            records = self._remove(reader, id)

        return _one(records, id)

    def _create(self, reader: Reader, every: Sequence[Record]) -> list[Record]:
        audience, session = reader.audience, reader.scope.session
        instances = [audience.writer.instance(values) for values in every]

        names = reader.names_given(every)

        with reader.keeping_keys(every), translated(audience.fields, names):
            session.add_all(instances)
            session.flush()

        return reader.read_back(instances)

    def _remove(self, reader: Reader, id: Id) -> list[Record]:
        instances = self._instances("remove", reader, id)
        records = reader.read_back(instances)

        with translated(reader.audience.fields):
            for instance in instances:
                reader.scope.session.delete(instance)

            reader.scope.session.flush()

        return records

    def _write(self, reader: Reader, id: Id, values: Record) -> list[Record]:
        records = reader.audience.direct.write(reader, id, values)

        if records is None:
            records = self._assign(reader, id, values)

        return records

    def _assign(self, reader: Reader, id: Id, values: Record) -> list[Record]:
        instances = self._instances("patch", reader, id)
        audience = reader.audience

        with translated(audience.fields, reader.names_given([values])):
            for instance in instances:
                audience.writer.assign(instance, values)

            reader.scope.session.flush()

        return reader.read_back(instances)

    def _instances(self, method: str, reader: Reader, id: Id) -> list[t.Any]:
        """Return the instances to write.

        :raises BadRequest: There are more than a client may name.
        """
        if id is not None:
            return [reader.instance(id)]

        limit = self.multi.limit(method, reader.params)
        # One more than that tells that there are too many.
        instances = reader.instances(None if limit is None else limit + 1)
        self.check_multi(method, reader.params, len(instances))
        return instances

    def _audience(self, params: Params) -> Audience:
        return self._inside if params.provider is None else self._outside

    def _reader(self, params: Params, *, is_one: bool = False) -> Reader:
        query = Query.parse(params.query, self._syntax)

        # What pages through many has no meaning for one.
        if is_one and (query.skip or query.limit is not None):
            query = replace(query, limit=None, skip=0)

        scope = joined_session(self._session_source)
        return Reader(scope, self._audience(params), query, params, self._populate)

    def check_multi(self, method: str, params: Params, number: int = 0) -> None:
        """Refuse a method on many records, unless ``multi`` allows as many.

        :param method: The name of the method.
        :param params: The params of the call.
        :param number: The number of records.
        :raises MethodNotAllowed: The method takes one record only.
        :raises BadRequest: A client may not name as many.
        """
        self.multi.check(method, params, number)


def _one(records: list[Record], id: Id) -> Record | list[Record]:
    """Return the record of an identifier, or all if there is none.

    :raises NotFound: There is no such record.
    """
    if id is None:
        return records

    if not records:
        raise not_found(id)

    return records[0]
