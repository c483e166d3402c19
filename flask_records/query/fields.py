"""The fields of a model, by which names on the wire become columns."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping
from dataclasses import replace

import sqlalchemy as sa
from sqlalchemy import orm

from .. import problems
from ..errors import BadRequest
from .body_fields import BodyFields
from .bounds import shortened
from .composite_keys import composite_field
from .computed_fields import not_in_queries, Shown
from .field import Field
from .field_options import DEFAULTS
from .mapped_fields import fields_of

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from .composite_keys import CompositeField
    from .computed_fields import ComputedField
    from .field_options import FieldOptions


COMPOSITE: t.Final = "id"
"""The name of an identifier that is made of several fields, unless it has another."""

COMPOSITE_CURE: t.Final = """\
 An identifier that is made of several of them is named 'id', or begins with an \
underscore, such as '_id'.\
"""

SHOWING: t.Final = ("hidden", "fields")
"""The options that may name computed fields."""

NOT_MAPPED: t.Final = """\
'{name}' is not mapped to a table when the application is set up. If its tables are \
reflected, do that before 'init_app'.\
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
        self._check_names(fields, is_composite=is_composite)

        self.ignores_readonly = options.readonly_ignored
        """``True`` to leave out of bodies what no client can write."""
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
        self.columns = self._table_columns()
        """The columns of tables by the names of their fields."""
        self.has_comparators = any(field.has_comparator for field in fields.values())
        """``True`` if a comparator of the application compares a column."""
        self.has_expressions = not self.columns.keys() >= fields.keys()
        """``True`` if a field is computed by an expression."""

        readable = {
            name: field
            for name, field in fields.items()
            if name not in options.hidden and options.is_listed(name)
        }
        self._all = tuple(readable.values())
        # An identifier of several fields is no column: it is not among those to select.
        self._fields = {**fields, id: self.id}
        self._readable = {**readable, id: self.id} if is_composite else readable

        if not is_composite:
            self._check_id()

        self.computed: Mapping[str, ComputedField] = {
            name: each
            for name, each in options.computed.items()
            if name not in options.hidden and options.is_listed(name)
        }
        """The fields of answers that functions compute, as far as they can be read."""
        self._stored = tuple(fields.values())
        self._shown = self._shown_with(self._all, tuple(self.computed.values()))
        self.names = frozenset({*self._readable, *self.computed})
        """The names of the fields that can be read."""
        self.hidden = frozenset({*fields, *options.computed}) - self.names
        """The names of the fields that can't be read."""
        self.conditional = frozenset(options.conditional)
        """The names of the fields that the caller sees or writes in some records."""
        self.write_once = frozenset(options.write_once)
        """The names of the fields that clients write in create only."""
        self.body = BodyFields(self, fields.values(), options)
        """The fields that bodies may name."""

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
            if name in self.computed:
                raise not_in_queries(name) from None

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

    def shown(self, names: Iterable[str] | None) -> Shown:
        """Return the parts of records: the fields to select, and those to compute.

        :param names: The names listed, or ``None`` for all.
        :raises BadRequest: A name is not a field.
        """
        if names is None:
            return self._shown

        listed = dict.fromkeys(names)
        computed = [self.computed[name] for name in listed if name in self.computed]
        stored = [name for name in listed if name not in self.computed]
        return self._shown_with(self.selected(stored), tuple(computed))

    def is_unique(self, name: str) -> bool:
        """Return ``True`` if the database refuses a second record of the same value."""
        prop = self.mapper.attrs.get(name)
        return isinstance(prop, orm.ColumnProperty) and _is_unique(prop.columns[0])

    def _check_names(self, fields: Mapping[str, Field], *, is_composite: bool) -> None:
        """Refuse names of options that are not in the model.

        :raises ValueError: There is one.
        """
        options, model = self._options, self.model.__name__
        id = t.cast("str", options.id)
        ids = [] if is_composite and _names_composite(id) else [id]

        for option, names in options.named(ids):
            for name in names:
                is_computed = option in SHOWING and name in options.computed

                if name not in fields and not is_computed:
                    cure = COMPOSITE_CURE if is_composite and option == "id" else ""
                    raise ValueError(
                        f"'{option}' names '{name}', which is not a field of"
                        f" '{model}'. Its fields are: {', '.join(fields)}.{cure}"
                    )

        for name in options.computed:
            if name in fields or name in self.mapper.all_orm_descriptors:
                raise ValueError(
                    f"'computed' names '{name}', which is an attribute of '{model}'"
                    " already. Choose another name."
                )

        for name in options.exclude:
            if name not in self.mapper.all_orm_descriptors:
                raise ValueError(
                    f"'exclude' names '{name}', which is not a column or a hybrid"
                    f" property of '{model}'."
                )

    def _shown_with(
        self, fields: tuple[Field, ...], computed: tuple[ComputedField, ...]
    ) -> Shown:
        """Return the parts of records with some fields and computed ones, which are
        computed from all fields, hidden ones too, so that they are the same for all
        callers.
        """
        if not computed:
            return Shown(fields)

        others = [field for field in self._stored if field not in fields]
        names = tuple([field.name for field in others])
        return Shown((*fields, *others), computed, names)

    def _table_columns(self) -> dict[str, sa.Column[t.Any]]:
        columns = {prop.key: prop.columns[0] for prop in self.mapper.column_attrs}
        return {
            name: column
            for name, column in columns.items()
            if isinstance(column, sa.Column)
        }

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


def _names_composite(name: str) -> bool:
    """Return ``True`` for a name of an identifier that is made of several fields. Any
    other is more likely to be the name of a field, misspelt.
    """
    return name == COMPOSITE or name.startswith("_")


def _mapper(model: type[t.Any]) -> orm.Mapper[t.Any]:
    try:
        return t.cast("orm.Mapper[t.Any]", sa.inspect(model))
    except (sa.exc.NoInspectionAvailable, orm.exc.UnmappedClassError) as error:
        raise TypeError(NOT_MAPPED.format(name=model.__name__)) from error


def _is_unique(column: t.Any) -> bool:
    """Return ``True`` if no two rows of a table have the same value of a column."""
    table = getattr(column, "table", None)

    if not isinstance(table, sa.Table):
        return False

    kinds = (sa.UniqueConstraint, sa.PrimaryKeyConstraint)
    constraints = [each for each in table.constraints if isinstance(each, kinds)]
    indexes = [each for each in table.indexes if each.unique and not _is_partial(each)]
    return any(list(each.columns) == [column] for each in (*constraints, *indexes))


def _is_partial(index: sa.Index) -> bool:
    """Return ``True`` for an index of some of the rows."""
    return any(
        name.endswith("_where") and value is not None
        for name, value in index.dialect_kwargs.items()
    )
