"""The fields of a model, whoever may name them."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import sqlalchemy as sa
from sqlalchemy import orm

from .column_types import UNTYPED
from .field import composite_of, fields_of, is_kept

if t.TYPE_CHECKING:
    from .conversions import Schema
    from .converters import Converters
    from .field import Field


COMPOSITE: t.Final = "id"
"""The name of an identifier that is made of several fields, unless it has another."""

NO_NAME: t.Final = """\
'{0}' names '{1}', which is not a {2} of '{3}'. Its {2}s are: {4}.\
"""

NO_TYPE: t.Final = """\
'{model}.{name}' identifies records, and its column has no type: SQLite would compare \
2 with '2'. Give it one, sa.Column('{name}', sa.Integer, primary_key=True).\
"""

NOT_MAPPED: t.Final = """\
'{name}' is not mapped to a table when the application is set up. If its tables are \
reflected, do that before 'init_app'.\
"""


@dataclass(frozen=True, kw_only=True)
class FieldOptions:
    """Options of the fields of a model."""

    id: str | None = None
    """The name of the identifier field. The primary key by default."""

    hidden: Collection[str] = ()
    """Fields that do not exist for clients. They can still be written."""

    readonly: Collection[str] = ()
    """Fields that clients can't write."""

    write_once: Collection[str] = ()
    """Fields that clients can write in create only."""

    listed: Collection[str] | None = None
    """The only fields that clients know of, besides the identifier. All by default."""

    client_ids: bool = False
    """``True`` if clients can write keys that the database counts up."""

    converters: Converters = field(default_factory=dict)
    """Conversions of the application, by type or by the name of a field."""

    extra: Mapping[str, Schema] = field(default_factory=dict)
    """The JSON Schemas of fields that hooks add to records, by name."""

    def is_listed(self, name: str) -> bool:
        """Return ``True`` for a field that clients may know of."""
        return self.listed is None or name in self.listed or name == self.id


class Fields:
    """The fields of a model on a database.

    They are the mapped columns, column properties and hybrid properties of the model,
    except those whose name begins with an underscore, which is Python's way to say that
    they are private. The identifier field may have one.

    :param options: The options of the service.
    :param dialect: The dialect of the database. What is the same on all by default.
    :raises TypeError: The model is not mapped to a table.
    :raises ValueError: The identifier is not a field of the model, or not unique.
    """

    def __init__(
        self,
        model: type[t.Any],
        options: FieldOptions | None = None,
        dialect: sa.Dialect | None = None,
    ) -> None:
        self.model = model
        """The mapped class."""
        self.dialect = dialect
        """The dialect of the database, if it is known."""
        self.mapper = mapper_of(model)
        """The mapper of the class."""

        columns = self.mapper.primary_key
        keys = [self.mapper.get_property_by_column(each).key for each in columns]
        options = options or FieldOptions()
        id = options.id or (keys[0] if len(keys) == 1 else COMPOSITE)
        self.options = options = replace(options, id=id)
        """The options, with the name of the identifier field."""
        fields = fields_of(self.mapper, options, dialect)
        self.stored: Mapping[str, Field] = {field.name: field for field in fields}
        """The fields by name, but for an identifier that is made of several."""
        # Another name is more likely a misspelt field.
        is_named = id not in self.stored and (id == COMPOSITE or id[0] == "_")
        is_composite = len(keys) > 1 and is_named
        self.composite = self._composite(id, keys) if is_composite else None
        """The identifier field if it is made of several fields."""

        if not is_composite and id not in self.stored:
            names = ", ".join(self.stored)
            raise ValueError(NO_NAME.format("id", id, "field", model.__name__, names))

        self.id = self.composite or self.stored[id]
        """The identifier field."""
        self.identifying = self.id.parts or (self.id,)
        """The fields of the identifier: itself, or its parts."""
        self.fixed = frozenset({id, *keys})
        """The names of the fields that a written record keeps."""
        self.primary_key = [getattr(model, name) for name in keys]
        """The columns that identify a record."""
        self.columns = {
            prop.key: prop.columns[0]
            for prop in self.mapper.column_attrs
            if isinstance(prop.columns[0], sa.Column)
        }
        """The columns of tables by the names of their fields."""
        self.names = frozenset({id, *self.stored})
        """The names of all fields."""
        self.writable = {
            name: field
            for name, field in self.stored.items()
            if name in self.columns
            and self.columns[name].table in written_tables(self.mapper)
            and not is_kept(self.mapper, self.columns[name])
        }
        """The fields that bodies may name, by name."""

        if not is_composite:
            self._check_id()

        is_on_sqlite = getattr(dialect, "name", "") == "sqlite"

        if is_on_sqlite and UNTYPED in [each.conversion for each in self.identifying]:
            raise ValueError(NO_TYPE.format(model=model.__name__, name=", ".join(keys)))

    def is_unique(self, name: str) -> bool:
        """Return ``True`` if the database refuses a second record of the same value."""
        column = self.columns.get(name)
        table = None if column is None else column.table

        # The model may be mapped to a subquery.
        if not isinstance(table, sa.Table):
            return False

        kinds = (sa.UniqueConstraint, sa.PrimaryKeyConstraint)
        keys = [each for each in table.constraints if isinstance(each, kinds)]
        indexes = [each for each in table.indexes if _is_unique(each)]
        return any(list(each.columns) == [column] for each in (*keys, *indexes))

    def _composite(self, name: str, keys: list[str]) -> Field:
        """Return the identifier that is made of the fields of the primary key.

        :raises ValueError: A client may not see a part.
        """
        for part in keys:
            is_shown = part in self.stored and self.options.is_listed(part)

            if not is_shown or part in self.options.hidden:
                raise ValueError(
                    f"'{self.model.__name__}.{part}' is a part of the identifier, which"
                    " shows it. Do not hide it, or name a field that is unique in 'id'."
                )

        return composite_of(name, tuple([self.stored[part] for part in keys]))

    def _check_id(self) -> None:
        """Refuse an identifier that several records may have.

        :raises ValueError: There is no primary key or unique index of its column alone.
        """
        name, model = self.id.name, self.model.__name__

        if self.fixed != {name} and not self.is_unique(name):
            raise ValueError(
                f"'{model}.{name}' identifies no record, as it is not unique. Give its"
                " column a unique index, 'mapped_column(unique=True)', leave 'id' out"
                " for the primary key, or name a primary key of several columns"
                f" otherwise: SQLAlchemyService({model}, id='_id')."
            )


def mapper_of(model: type[t.Any]) -> orm.Mapper[t.Any]:
    """Return the mapper of a model.

    :raises TypeError: The model is not mapped to a table.
    """
    try:
        return t.cast("orm.Mapper[t.Any]", sa.inspect(model))
    except (sa.exc.NoInspectionAvailable, orm.exc.UnmappedClassError) as error:
        raise TypeError(NOT_MAPPED.format(name=model.__name__)) from error


def written_tables(mapper: orm.Mapper[t.Any]) -> Sequence[sa.Table]:
    """Return the tables of a mapper that SQLAlchemy writes: it leaves those out whose
    primary key is not mapped, such as the ones in a subquery, and says nothing.
    """
    columns = {column for prop in mapper.column_attrs for column in prop.columns}
    return [
        table
        for table in mapper.tables
        if isinstance(table, sa.Table) and columns.issuperset(table.primary_key)
    ]


def inner_tables(selectable: t.Any) -> Sequence[sa.Table]:
    """Return the tables whose rows are in each row of a selectable, so that PostgreSQL
    locks them: not those on the outer side of a join.
    """
    if isinstance(selectable, sa.Join):
        inner = [] if selectable.full else inner_tables(selectable.left)
        outer = selectable.isouter or selectable.full
        return [*inner, *(() if outer else inner_tables(selectable.right))]

    return [selectable] if isinstance(selectable, sa.Table) else []


def _is_unique(index: sa.Index) -> bool:
    """Return ``True`` for a unique index of all rows."""
    options = index.dialect_kwargs.items()
    is_partial = any(n.endswith("_where") and each is not None for n, each in options)
    return bool(index.unique) and not is_partial
