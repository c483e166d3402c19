"""Writes through instances of the model, by the unit of work of a session."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import sqlalchemy as sa

from ..errors import BadRequest, Conflict
from ..problems import OWNED, Problem
from ..query.values import is_json
from .constructors import Constructor, has_constructor
from .reads import has_great_nulls, identifier, not_found, read_keyed
from .related_bodies import load_related, Related, settled

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..errors import RecordsError
    from ..typing import Id, Record
    from .calls import ResolvedCall
    from .multi import Multi
    from .view import View
    from .writing import Writing


class UnitOfWork:
    """Writes records through instances of the model, with all that listens to them."""

    def __init__(self, view: View, multi: Multi) -> None:
        self._fields = view.fields
        self._multi = multi
        self._plans = view.plans
        self._model = view.fields.model
        self._writable = view.writable
        self._has_constructor = has_constructor(view.fields)
        self._constructor = Constructor(view.fields)

    def create(
        self,
        writing: Writing,
        call: ResolvedCall,
        bodies: Sequence[Record],
        *,
        is_list: bool = False,
    ) -> list[Record]:
        """Return new records.

        :param is_list: ``True`` if errors name the places of the bodies.
        :raises BadRequest: A validator of the model refuses a value, the client may
            not write it to the record, or the database does not keep a primary key.
        :raises Conflict: The values contradict a record that is there.
        """
        instances = []
        loaded = self._load_related(writing, call, bodies, is_list=is_list)

        for index, values in enumerate(loaded):
            try:
                instances.append(self._instance(values))
            except BadRequest as error:
                if is_list:
                    _add_place(error, index)

                raise

        with writing.of(instances):
            writing.session.add_all(instances)
            writing.flush(bodies)

        call.guards.check_new(writing, call, instances, bodies, is_list=is_list)
        return self._read_back(writing, call, instances)

    def patch(
        self, writing: Writing, call: ResolvedCall, id: Id, values: Record
    ) -> list[Record]:
        """Return the record with its new values.

        :param id: Its identifier, or ``None`` for all records that meet the query.
        :raises NotFound: There is no such record, or it does not meet the query.
        :raises BadRequest: A validator of the model refuses a value, the client may
            not write it to a record, or there are more records than a client may write
            in one call.
        """
        instances = self._instances("patch", writing, call, id)
        [values] = self._load_related(writing, call, [values])

        call.guards.check_changes(writing, call, instances, values)

        with writing.of(instances):
            for instance in instances:
                self._assign(instance, values)

            writing.flush([values])

        return self._read_back(writing, call, instances)

    def remove(self, writing: Writing, call: ResolvedCall, id: Id) -> list[Record]:
        """Return the record that is removed.

        :param id: Its identifier, or ``None`` for all records that meet the query.
        :raises NotFound: There is no such record, or it does not meet the query.
        :raises BadRequest: There are more records than a client may remove in one call.
        """
        instances = self._instances("remove", writing, call, id)
        records = self._read_back(writing, call, instances)

        with writing.of(instances):
            for instance in instances:
                writing.session.delete(instance)

            writing.flush()

        return records

    def _load_related(
        self,
        writing: Writing,
        call: ResolvedCall,
        bodies: Sequence[Record],
        *,
        is_list: bool = False,
    ) -> Sequence[Record]:
        if not self._writable:
            return bodies

        return load_related(
            self._writable, writing, call.params, bodies, is_list=is_list
        )

    def _instances(
        self, method: str, writing: Writing, call: ResolvedCall, id: Id
    ) -> list[t.Any]:
        """Return the instances to write, which nobody else writes until the commit."""
        query, nulls = call.query, has_great_nulls(writing.dialect)

        if id is not None:
            value = identifier(self._fields, id)
            plan = self._plans.instances(query, 1, id=value, nulls=nulls)
            instances = writing.instances(plan)

            if not instances:
                raise not_found(id)

            return instances

        if query.limit == 0:
            return []

        bound = self._multi.limit(method, call.params)
        # One more than that tells that there are too many.
        limits = [query.limit, None if bound is None else bound + 1]
        limit = min([each for each in limits if each is not None], default=None)
        instances = writing.instances(self._plans.instances(query, limit, nulls=nulls))
        self._multi.check(method, call.params, len(instances))
        return instances

    def _read_back(
        self, writing: Writing, call: ResolvedCall, instances: Sequence[t.Any]
    ) -> list[Record]:
        """Return the records of instances, in their order, as a read returns them."""
        identify = self._fields.mapper.primary_key_from_instance
        keys = [tuple(identify(instance)) for instance in instances]

        with writing.reading() as reading:
            rows = read_keyed(reading, call, keys)

        return call.records(rows)

    def _instance(self, values: Record) -> t.Any:
        arguments, rest = self._split(values)

        try:
            instance = self._model(**arguments)
        except ValueError as error:
            raise BadRequest(f"The data is not valid: {error}") from error

        self._assign(instance, rest | self._json_nulls(instance, arguments))
        return instance

    def _json_nulls(self, instance: t.Any, arguments: Record) -> Record:
        """Return the nulls of JSON columns that a constructor has taken as they are."""
        columns = self._fields.mapper.columns
        names = [name for name, value in arguments.items() if value is None]
        return {
            name: None
            for name in names
            if name in columns
            and is_json(columns[name].type)
            and getattr(instance, name) is None
        }

    def _split(self, values: Record) -> tuple[Record, Record]:
        """Return the values that the constructor takes, and the others."""
        if not self._has_constructor:
            return {}, values

        related = {k: v for k, v in values.items() if isinstance(v, Related)}

        if self._constructor.takes_any:
            fields = {k: v for k, v in values.items() if k not in related}
            return self._constructor.arguments(fields), related

        given = values | {name: each.value for name, each in related.items()}
        arguments = self._constructor.arguments(given)
        return arguments, {k: v for k, v in values.items() if k not in arguments}

    def _assign(self, instance: t.Any, values: Record) -> None:
        if self._writable:
            values = settled(instance, values)

        for name, value in self._with_json_null(values).items():
            try:
                if isinstance(value, Related):
                    value.set(instance)
                else:
                    setattr(instance, name, value)
            except sa.exc.InvalidRequestError as error:
                # A model may say that a record has one parent only.
                raise Conflict(f"'{name}' {OWNED}.", errors={name: OWNED}) from error
            except ValueError as error:
                raise BadRequest(
                    f"'{name}' is not valid: {error}", errors={name: Problem.of(error)}
                ) from error

    def _with_json_null(self, values: Record) -> Record:
        # SQLAlchemy stores None in a JSON column as the JSON value null.
        columns = self._fields.mapper.columns
        return {
            k: sa.null() if v is None and is_json(columns[k].type) else v
            for k, v in values.items()
        }


def _add_place(error: RecordsError, index: int) -> None:
    """Put the index of a record before the names of fields, as in ``1.email``."""
    if not isinstance(error.errors, Mapping):
        return

    for name in error.errors:
        error.message = error.message.replace(f"'{name}'", f"'{index}.{name}'")

    error.errors = {f"{index}.{name}": why for name, why in error.errors.items()}
