"""Bodies of calls, read as the values to write."""

from __future__ import annotations

import inspect
import typing as t
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

import sqlalchemy as sa
from sqlalchemy import orm
from werkzeug.datastructures import FileStorage

from ..database.database_errors import STALE
from ..errors import Conflict, not_an_object
from ..problems import (
    CHANGED,
    NO_LIST,
    NO_RECORD,
    NOT_NULL,
    Problem,
    READ_ONLY,
    REQUIRED,
    UNKNOWN_FIELD,
)
from ..query.bounds import MAX_ERRORS, refuse, shorten
from ..query.conversions import is_same, NULL_TEXTS
from ..query.paths import single_key
from .resolved_call import identifier, not_found

if t.TYPE_CHECKING:
    from ..query import Field, Fields, Scope
    from ..query.conversions import Cast
    from ..typing import Record
    from .fast_path import Write
    from .resolved_call import ResolvedCall

NOTHING: t.Final[frozenset[str]] = frozenset()

KEEP: t.Final = object()
"""The default of a field that only the database knows."""


class SQLDefault(t.NamedTuple):
    """A default that the database computes. The code of a model gets its value."""

    expression: t.Any
    """The expression of SQL."""


class Body(t.NamedTuple):
    """A body, read by the fields of a caller."""

    values: dict[str, t.Any]
    """The values to write, by field."""

    problems: dict[str, Problem]
    """The problems, by name."""

    unwritten: dict[str, t.Any]
    """Values of fields that the caller may not write. Accepted if they equal the
    stored values, because front ends send whole records back.
    """


class Bodies:
    """Reads the bodies of calls on a model: values of columns, or problems by field. It
    runs no statements, and knows no sessions.

    :param relations: The names of the relationships that bodies may name.
    :param populated: The relationships that ``$populate`` puts into records, and the
        fields that a caller has to see for that.
    """

    def __init__(
        self,
        fields: Fields,
        relations: frozenset[str],
        populated: Mapping[str, str],
    ) -> None:
        self._fields = fields
        self._relations = relations
        self._populated = {n: key for n, key in populated.items() if n not in relations}
        lists: dict[str, Cast] = dict.fromkeys(relations, _list)
        writable = fields.writable.items()
        self._casts = {name: field.conversion.read for name, field in writable} | lists
        self._type_checks = {n: _type_check(field) for n, field in writable} | lists
        # The address has the identifier. The parts of an identifier are fields that a
        # client writes in create.
        is_composite = fields.composite is not None
        self._once = frozenset(fields.options.write_once)
        self._ignored = NOTHING if is_composite else fields.fixed
        self._parts = fields.fixed - self._ignored

        # The model may itself fill in fields that a body leaves out.
        constructor = Constructor(fields)

        if constructor.is_own or fields.mapper.dispatch.before_insert:
            self._required = constructor.required
        else:
            self._required = [name for name, each in writable if each.is_required]

    def read_create(self, call: ResolvedCall, data: t.Any) -> list[Record]:
        """Return the values of new records. The problems of all bodies are listed
        together, up to :data:`.MAX_ERRORS`.
        """
        is_list = isinstance(data, list)
        records: list[Record] = []
        problems: dict[str, Problem] = {}
        unwritable = self._find_refused(call, is_new=True)

        for index, body in enumerate(data if is_list else [data]):
            values, wrong, _ = self._read(call, "create", body, unwritable)
            records.append(values)

            missing = [name for name in self._required if name not in body]
            wrong |= dict.fromkeys(missing, REQUIRED)

            if wrong:
                place = f"{index}." if is_list else ""
                problems |= {f"{place}{name}": each for name, each in wrong.items()}

            if len(problems) > MAX_ERRORS:
                break

        refuse(problems)
        return records

    def read_update(self, call: ResolvedCall, body: t.Any) -> Body:
        """Return the body of an update, with null or the default for the fields that it
        leaves out. Those that the caller can't write keep their values.
        """
        unwritable = self._find_refused(call, is_new=False)
        outcome = self._read(call, "update", body, unwritable, is_compared=True)
        scope, schema = call.scope, call.params._state.schema_fields
        names = scope.names & scope.writable - self._fields.fixed - self._once
        names -= scope.conditional.union(outcome.values, outcome.problems)

        for name, field in self._fields.writable.items():
            if name not in names or (schema is not None and name not in schema):
                continue

            value = default_of(field)

            if value is None and not field.is_nullable:
                outcome.problems[name] = REQUIRED
            elif value is not KEEP:
                outcome.values[name] = value

        return outcome

    def read_patch(
        self, call: ResolvedCall, body: t.Any, *, is_many: bool = False
    ) -> Body:
        """Return the body of a patch, of one record or of all that meet a query."""
        unwritable = self._find_refused(call, is_new=False)
        return self._read(call, "patch", body, unwritable, is_compared=not is_many)

    def type_problems(
        self, scope: Scope, method: str, body: Mapping[str, t.Any]
    ) -> dict[str, Problem]:
        """Return the problems of values of a client that are not of the type of their
        field, so that no hook meets them.
        """
        ignored = NOTHING if method == "create" else self._ignored & scope.names
        problems = {}

        for name, value in body.items():
            check = self._type_checks.get(name)

            # Hooks turn a file into a value, and a converter can read it once only.
            if (
                check is None
                or name in ignored
                or (type(value) is FileStorage and name not in self._relations)
            ):
                continue

            try:
                check(value)
            except ValueError as error:
                if name in self._relations or name in scope.writable:
                    problems[name] = Problem.of(error)
                elif name in scope.names:
                    problems[name] = READ_ONLY

        return problems

    def problem(self, name: str) -> Problem:
        """Return the problem of another value for a field that is not written."""
        return CHANGED if name in self._once else READ_ONLY

    def _read(
        self,
        call: ResolvedCall,
        method: str,
        body: t.Any,
        unwritable: frozenset[str],
        *,
        is_compared: bool = False,
    ) -> Body:
        """Return the body of a method.

        :param unwritable: The names that it may not have values for.
        :param is_compared: ``True`` if there is a record to compare values with that
            the caller may not write. They are problems by default.
        """
        # A look at the class takes a fraction of the time of one at all of its bases.
        if type(body) is not dict and not isinstance(body, Mapping):
            raise not_an_object(method)

        scope, is_new, writable = call.scope, method == "create", self._fields.writable
        values, problems, unwritten = outcome = Body({}, {}, {})
        casts = self._casts

        for name, value in body.items():
            if name in casts and name not in unwritable:
                try:
                    read = casts[name](value)
                except ValueError as error:
                    problems[name] = Problem.of(error)
                    continue

                if read is not None:
                    values[name] = read
                elif is_new and writable[name].has_default:
                    # A new record has the default in the place of null.
                    continue
                elif writable[name].is_nullable:
                    values[name] = None
                else:
                    problems[name] = NOT_NULL

            elif not is_new and name in self._ignored and name in scope.names:
                continue
            elif self._is_empty(scope, name, value, is_compared):
                continue
            elif name not in scope.names | scope.writable:
                problems[shorten(name)] = UNKNOWN_FIELD
            elif is_compared and name in scope.names and name not in scope.conditional:
                unwritten[name] = value
            else:
                problems[name] = self.problem(name)

        return outcome

    def _find_refused(self, call: ResolvedCall, *, is_new: bool) -> frozenset[str]:
        """Return the names that a body may not have values for."""
        state, relations = call.params._state, self._relations
        names = frozenset(state.client_fields)
        unwritable = names - call.scope.writable - relations

        if state.schema_fields is not None:
            unwritable |= names.difference(state.schema_fields)

        if is_new:
            return unwritable

        ignored = self._ignored & call.scope.names
        return unwritable | ignored | self._parts | (self._once & names)

    def _is_empty(
        self, scope: Scope, name: str, value: t.Any, is_compared: bool
    ) -> bool:
        """Return ``True`` for what front ends send beside values: a null for the key
        that a new record will get, and what ``$populate`` has put into a record.
        """
        if is_compared and self._populated.get(name) in scope.names:
            others = value if isinstance(value, list) else [value]
            return value is None or all(isinstance(other, Mapping) for other in others)

        field = self._fields.writable.get(name)
        is_made = name == self._fields.id.name if field is None else field.is_counted
        is_given = name in scope.writable
        return is_made and not is_given and value in (None, *NULL_TEXTS)


def _list(value: t.Any) -> list[t.Any]:
    """Return identifiers of records, or records that have one."""
    if not isinstance(value, list):
        raise ValueError(NO_LIST)

    return value


def _type_check(field: Field) -> Cast:
    """Return a function that raises :class:`ValueError` for a value that is not of the
    type of a field, whatever its length.
    """
    check = partial(field.conversion.read, is_checked=False)

    # Hooks make bytes of the text of a password.
    is_text_taken = "contentEncoding" in field.conversion.schema
    return (lambda v: isinstance(v, str) or check(v)) if is_text_taken else check


class Constructor:
    """The constructor of a model."""

    def __init__(self, fields: Fields) -> None:
        managers = [each.class_manager for each in fields.mapper.iterate_to_root()]
        modules = [each.original_init.__module__ for each in managers]
        # A class that inherits its constructor has the one that SQLAlchemy has wrapped.
        self.is_own = not all(each.startswith("sqlalchemy.") for each in modules)
        """``True`` if the model has, or inherits, another one than SQLAlchemy's."""
        parameters = inspect.signature(fields.model).parameters.values()
        nameless = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        arguments = [each for each in parameters if each.kind not in nameless]
        self._takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
        self._names = frozenset([each.name for each in arguments])
        self._needs = [each.name for each in arguments if each.default is each.empty]
        self._related = {
            each.key: (each.mapper.class_, *key)
            for each in fields.mapper.relationships
            if each.key in self._names and each.direction is orm.MANYTOONE
            if (key := single_key(each))
        }
        keys = {name: key for name, (_, key, _) in self._related.items()}
        self.required = [keys.get(name, name) for name in self._needs]
        """The names of the arguments that it can't do without. The field with the key
        of a related record stands for the record.
        """

    def arguments(self, values: Record, session: orm.Session) -> Record:
        """Return the arguments that it takes, of the values of a new record. Its own
        defaults stand for what is left out, and null where it has none.
        """
        names = values.keys() if self._takes_any else values.keys() & self._names
        arguments = {**dict.fromkeys(self._needs), **{n: values[n] for n in names}}

        for name, (model, key, other) in self._related.items():
            if name not in values and (value := values.get(key)) is not None:
                statement = sa.select(model).filter_by(**{other: value})
                arguments[name] = related = session.scalars(statement).first()

                if related is None:
                    text, errors = f"'{key}' {NO_RECORD}.", {key: NO_RECORD}
                    raise Conflict(text, errors=errors)

        return arguments


def function_of(default: t.Any) -> Cast | None:
    """Return the function of the default of a column, or ``None`` if there is none that
    can be called without a statement.
    """
    is_function = default is not None and default.is_callable
    # SQLAlchemy wraps a function that takes no context.
    return default.arg if is_function and hasattr(default.arg, "__wrapped__") else None


def changes_with_others(column: t.Any) -> bool:
    """Return ``True`` if a column has a value for updates of other columns."""
    return column.onupdate is not None or column.server_onupdate is not None


def default_of(field: Field) -> t.Any:
    """Return the value that an update gives a field that the body leaves out, or
    :data:`KEEP`.
    """
    column = field.column.property.columns[0]
    default, on_server = column.default, column.server_default

    # The database counts up, and sets what has a value for updates.
    if column.autoincrement is True or changes_with_others(column):
        return KEEP

    if function := function_of(default):
        return function(None)

    if default is not None:
        value = KEEP if default.is_callable else getattr(default, "arg", KEEP)
        return SQLDefault(value) if isinstance(value, sa.ClauseElement) else value

    return None if on_server is None else _value_of(on_server, field)


def _value_of(on_server: t.Any, field: Field) -> t.Any:
    """Return the value of a default of the database: a text, a number or a truth value
    in SQL, such as ``text("7")``, another one in SQL, or :data:`KEEP`.
    """
    expression, conversion = getattr(on_server, "arg", KEEP), field.conversion
    is_text = conversion.is_text or "enum" in conversion.schema
    is_number = conversion.schema.get("type") in ("integer", "number", "boolean")
    is_plain = conversion.show is None and "format" not in conversion.schema

    if is_plain and (is_number or (is_text and isinstance(expression, str))):
        with suppress(ValueError):
            return field.conversion.read(str(expression))

    if isinstance(expression, sa.TextClause):
        # In text of SQLAlchemy, a colon begins a parameter.
        expression = sa.literal_column(expression.text.replace("\\:", ":"))
    elif isinstance(expression, str):
        expression = sa.literal(expression)

    return KEEP if expression is KEEP else SQLDefault(expression)


def find_changes(write: Write, values: Record) -> dict[str, Problem]:
    """Return the problems of values that the caller may not write: those that differ
    from what the record shows, as a client may send it back. Nobody else writes the
    record until the commit.
    """
    model, scope = write.call.model, write.call.scope
    selected = scope.select(values)
    rows = write.read_stored(selected)

    if not rows:
        raise not_found(write.id)

    # No column has an identifier of several parts.
    record: dict[Field, t.Any] = {model.fields.id: identifier(model.fields, write.id)}
    record |= dict(zip(selected, rows[0], strict=True))

    problems = {
        name: model.bodies.problem(name)
        for name, value in values.items()
        if not _is_unchanged(scope[name], value, record[scope[name]])
    }

    # The client has read the record before another call has changed it.
    version, columns = model.fields.mapper.version_id_col, model.fields.columns

    if version is not None and any(columns.get(n) is version for n in problems):
        raise STALE.error(STALE.text)

    return problems


def _is_unchanged(field: Field, value: t.Any, stored: t.Any) -> bool:
    """Return ``True`` if a value of a body is what a record shows. JavaScript cuts
    times to milliseconds, and numbers to 53 bits.
    """
    conversion = field.conversion

    try:
        if conversion.show is not None and stored is not None:
            stored = conversion.show(stored)

        # A converter may show what it does not read.
        if type(value) is type(stored) and value == stored:
            return True

        value = conversion.read(value, is_checked=False)
    except ValueError:
        return False

    # The database may have a value that no client can write. It is shown as it is.
    with suppress(ValueError):
        stored = conversion.read(stored, is_checked=False)

    return is_same(value, stored)
