"""The fields of a model, by which names on the wire become columns."""

from __future__ import annotations

import typing as t
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Set
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import orm

from .. import problems
from ..errors import BadRequest
from ..problems import Problem
from .bounds import MAX_ERRORS
from .bounds import shortened
from .composite_keys import composite_field
from .field import Field
from .field_options import DEFAULTS
from .mapped_fields import fields_of
from .uniqueness import is_unique

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from .composite_keys import CompositeField
    from .field_options import FieldOptions
    from .values import Cast


MAX_CASTS: t.Final = 256
"""The number of sets of names whose casts are remembered."""


COMPOSITE: t.Final = "id"
"""The name of an identifier that is made of several fields, unless it has another."""

NOT_MAPPED: t.Final = """\
'{name}' is not mapped to a table when the application is set up. If its tables are \
reflected, do that before 'init_app'.\
"""


class Body(t.NamedTuple):
    """A body, read by the fields of a caller."""

    values: dict[str, t.Any]
    """The values to write, by field."""

    errors: dict[str, Problem]
    """The problems, by name."""

    unwritten: dict[str, t.Any]
    """Values of fields that the caller may not write. They are no problem if the record
    has them already.
    """


class TrustedName(str):
    """A name that only the application can give, for which no field is hidden."""


class Fields:
    """The fields of a model that one kind of caller may name.

    The fields are the mapped columns, column properties and hybrid properties of the
    model, except those whose name begins with an underscore, which is Python's way to
    say that they are private. The identifier field may have one.

    :param options: The options of the service.
    :param dialect: The dialect of the database. What is the same on all by default.
    :raises TypeError: The model is not mapped to a table.
    :raises ValueError: A name is not a field of the model, or the identifier is not
        unique.
    """

    def __init__(
        self,
        model: type[t.Any],
        options: FieldOptions = DEFAULTS,
        dialect: sa.Dialect | None = None,
    ) -> None:
        self.model = model
        self.dialect = dialect
        """The dialect of the database, if it is known."""
        self.mapper = _mapper(model)

        keys = self._key_names()
        id = options.id or (keys[0] if len(keys) == 1 else COMPOSITE)
        self._options = replace(options, id=id)
        mapped = fields_of(self.mapper, self._options, dialect)
        fields = {field.name: field for field in mapped}
        is_composite = len(keys) > 1 and not (options.id and id in fields)

        options = self._options
        ids = [] if is_composite else [id]

        for option, names in options.named(ids):
            for name in names:
                if name not in fields:
                    raise ValueError(
                        f"'{option}' names '{name}', which is not a field of"
                        f" '{model.__name__}'. Its fields are: {', '.join(fields)}."
                    )

        for name in options.exclude:
            if name not in self.mapper.all_orm_descriptors:
                raise ValueError(
                    f"'exclude' names '{name}', which is not a column or a hybrid"
                    f" property of '{model.__name__}'."
                )

        self.constraints = options.constraints
        """Rules of the database that the application describes, by their names."""
        self.composite = self._composite(id, fields) if is_composite else None
        """The identifier field if it is made of several fields."""
        self.id = self.composite or fields[id]
        """The identifier field."""
        self.identifying = self.composite.parts if self.composite else (self.id,)
        """The fields of the identifier: itself, or its parts."""
        self.fixed = frozenset({id, *keys})
        """The names of the fields that a written record keeps."""
        self.primary_key = [getattr(model, name) for name in keys]
        """The columns that identify a record."""
        self._fields = fields
        self.columns: dict[str, sa.Column[t.Any]] = {
            prop.key: prop.columns[0]
            for prop in self.mapper.column_attrs
            if isinstance(prop.columns[0], sa.Column)
        }
        """The columns of tables by the names of their fields."""
        self.has_comparators = any(field.has_comparator for field in fields.values())
        """``True`` if a comparator of the application compares a column."""
        self.has_expressions = not self.columns.keys() >= fields.keys()
        """``True`` if a field is computed by an expression."""
        self._required = [field.name for field in fields.values() if field.is_required]
        self._writable = {
            name: field for name, field in fields.items() if field.is_writable
        }
        self._client_writable = frozenset(
            name for name, field in self._writable.items() if not field.is_readonly
        )
        self._casts: dict[tuple[str, ...], tuple[Cast, ...]] = {}
        self._readable = {
            name: field
            for name, field in fields.items()
            if name not in options.hidden and options.is_listed(name)
        }
        self._all = tuple(self._readable.values())

        if self.composite is not None:
            self._fields = {**fields, id: self.composite}
            self._readable = {**self._readable, id: self.composite}

        elif options.id:
            self._check_id()

        self.names = frozenset(self._readable)
        """The names of the fields that can be read."""
        self.hidden = frozenset(fields) - self.names
        """The names of the fields that can't be read."""
        self.conditional = frozenset(options.conditional)
        """The names of the fields that the caller sees or writes in some records."""
        self._kept = self.fixed.union(options.write_once, options.conditional)
        self.write_once = frozenset(options.write_once)
        """The names of the fields that clients write in create only."""

    def on(self, dialect: sa.Dialect) -> Fields:
        """Return the fields on a database.

        :raises ValueError: The database changes the values of a column.
        """
        return Fields(self.model, self._options, dialect)

    def __iter__(self) -> t.Iterator[Field]:
        """Yield the fields that can be read."""
        return iter(self._all)

    def __getitem__(self, name: str) -> Field:
        """Return a field that can be read.

        :raises BadRequest: There is no such field for the caller.
        """
        fields = self._fields if isinstance(name, TrustedName) else self._readable

        try:
            return fields[name]
        except KeyError:
            name = shortened(name)
            raise BadRequest(
                f"'{name}' is not a field.", errors={name: problems.UNKNOWN_FIELD}
            ) from None

    def ordered(self, name: str) -> Field:
        """Return a field that can be sorted by, or compared with less and greater.

        :raises BadRequest: There is no such field, or it has no order.
        """
        field = self[name]

        if not field.conversion.is_ordered:
            raise BadRequest(
                f"'{name}' has no order.", errors={name: field.conversion.no_order}
            )

        return field

    def sorted_by(self, name: str) -> Sequence[Field]:
        """Return the fields that a name sorts by.

        :raises BadRequest: There is no such field, or it has no order.
        """
        if self.composite is None or name != self.id.name:
            return (self.ordered(name),)

        return [self.ordered(part.name) for part in self.identifying]

    def selected(self, names: Iterable[str] | None) -> tuple[Field, ...]:
        """Return the fields to select: those listed and the identifier, or its parts.

        :param names: The names listed, or ``None`` for all.
        :raises BadRequest: A name is not a field.
        """
        if names is None:
            return self._all

        chosen = {name: self[name] for name in names}
        chosen = {field.name: field for field in self.identifying} | chosen
        return tuple([each for each in chosen.values() if each is not self.composite])

    def is_written(self, name: str) -> bool:
        """Return ``True`` if a body may name a field."""
        is_known = name in self.names and name in self._writable
        return is_known or self.is_sent(name)

    def is_sent(self, name: str) -> bool:
        """Return ``True`` if a body of a client may name a field."""
        return name in self._client_writable

    def values(
        self,
        data: Mapping[str, t.Any],
        *,
        sent: Collection[str] = (),
        skip: Set[str] = frozenset(),
        keep: Set[str] = frozenset(),
        new: bool,
        is_compared: bool = False,
    ) -> Body:
        """Return the values of a body by field, and the problems of the others by
        field. After :data:`.MAX_ERRORS` problems, the rest is not looked at.

        :param sent: The names in it that came from a client. None by default.
        :param skip: Names that are ignored.
        :param keep: The names of fields that keep their values.
        :param new: ``True`` for the body of a new record, where null asks for the
            default.
        :param is_compared: ``True`` if there is a record to compare the values with
            that the caller may not write. They are problems by default.
        """
        is_simple = skip.isdisjoint(data) and keep.isdisjoint(data)
        cast_values = self._cast(data) if is_simple else None

        if cast_values is not None:
            return Body(cast_values, {}, {})

        writable = self._writable
        values: dict[str, t.Any] = {}
        errors: dict[str, Problem] = {}
        unwritten: dict[str, t.Any] = {}

        for name, value in data.items():
            if errors and len(errors) > MAX_ERRORS:
                break

            if name in skip:
                continue

            field = None if name in keep else writable.get(name)

            if value is None and self.composite and name == self.composite.name:
                # Front ends send a new record with a null for its identifier.
                continue

            if field is None or (name in sent and field.is_refused(value)):
                if name not in self._readable:
                    errors[shortened(name)] = problems.UNKNOWN_FIELD
                elif is_compared and name not in self.conditional:
                    unwritten[name] = value
                else:
                    errors[name] = problems.READ_ONLY

                continue

            try:
                value = field.stored(value)
            except ValueError as error:
                errors[name] = Problem.of(error)
                continue

            if value is not None or field.is_nullable:
                values[name] = value
            elif not (new and field.has_default):
                errors[name] = problems.REQUIRED

        return Body(values, errors, unwritten)

    def _cast(self, data: Mapping[str, t.Any]) -> dict[str, t.Any] | None:
        """Return the values of a body, or ``None`` if each has to be looked at."""
        names = tuple(data)
        casts = self._casts.get(names)

        if casts is None:
            if not self._client_writable.issuperset(names):
                return None

            if len(self._casts) >= MAX_CASTS:
                self._casts.clear()

            casts = tuple([self._writable[name].stored for name in names])
            self._casts[names] = casts

        try:
            values = [
                cast(value) for cast, value in zip(casts, data.values(), strict=True)
            ]
        except ValueError:
            return None

        if any([value is None for value in values]):
            return None

        return dict(zip(names, values, strict=True))

    def is_unique(self, name: str) -> bool:
        """Return ``True`` if the database refuses a second record of the same value."""
        prop = self.mapper.attrs.get(name)
        return isinstance(prop, orm.ColumnProperty) and is_unique(prop.columns[0])

    def missing(self, values: Collection[str]) -> list[str]:
        """Return the names of the fields that a new record needs and is not given."""
        return [name for name in self._required if name not in values]

    def replaceable(self) -> Iterable[Field]:
        """Yield the fields that an update resets unless the body names them."""
        # A caller can't repeat or change some fields: these stay.
        for field in self._all:
            is_fixed = field.name in self._kept

            if field.is_writable and not (field.is_readonly or is_fixed):
                yield field

    def _composite(self, name: str, fields: Mapping[str, Field]) -> CompositeField:
        """Return the identifier that is made of the fields of the primary key.

        :raises ValueError: Its name is taken, or a client may not see a part.
        """
        model = self.model.__name__

        if name in fields:
            raise ValueError(
                f"'{model}' has a primary key of several columns, and '{name}' is one"
                " of its fields. Name the identifier otherwise:"
                f" SQLAlchemyService({model}, id='_id')."
            )

        for part in self._key_names():
            is_shown = part in fields and self._options.is_listed(part)

            if not is_shown or part in self._options.hidden:
                raise ValueError(
                    f"'{model}.{part}' is a part of the identifier, which shows it. Do"
                    " not hide it, or name a field that is unique in 'id'."
                )

        return composite_field(name, [fields[part] for part in self._key_names()])

    def _check_id(self) -> None:
        """Refuse an identifier that several records may have.

        :raises ValueError: There is no primary key or unique index of its column alone.
        """
        name, model = self.id.name, self.model.__name__

        if self._key_names() != [name] and not self.is_unique(name):
            raise ValueError(
                f"'{model}.{name}' identifies no record, as it is not unique. Give its"
                f" column a unique index, 'mapped_column(unique=True)', or leave 'id'"
                " out for the primary key."
            )

    def _key_names(self) -> list[str]:
        """Return the names of the fields of the primary key."""
        columns = self.mapper.primary_key
        return [self.mapper.get_property_by_column(column).key for column in columns]


def _mapper(model: type[t.Any]) -> orm.Mapper[t.Any]:
    try:
        return t.cast("orm.Mapper[t.Any]", sa.inspect(model))
    except (sa.exc.NoInspectionAvailable, orm.exc.UnmappedClassError) as error:
        raise TypeError(NOT_MAPPED.format(name=model.__name__)) from error
