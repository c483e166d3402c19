"""The fields that one kind of caller may name."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from .. import problems
from .bounds import refused
from .field import at_path
from .plans import Selection
from .rules import NO_RECORD
from .where import ResolvedQuery

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Record
    from .field import Field
    from .fields import Fields
    from .rules import FieldRules


@dataclass(frozen=True, eq=False)
class Scope:
    """The fields of a model that one kind of caller may name: the application, clients,
    or users for whom rules say the same.
    """

    fields: Fields
    """The fields of the model."""

    names: frozenset[str]
    """The names of the fields that the caller reads."""

    writable: frozenset[str]
    """The names of the fields that a client may write. An update by the application
    leaves the others as they are, too.
    """

    shown_if: Mapping[str, Record] = field(default_factory=dict)
    """The queries of the records in which the caller sees a field, by its name."""

    written_if: Mapping[str, Record] = field(default_factory=dict)
    """The queries of the records to which the caller writes a field, by its name."""

    path: str = ""
    """The path to the model with a dot at its end, for a query of another model."""

    @classmethod
    def of_application(cls, fields: Fields) -> t.Self:
        """Return the scope of the application, which reads and writes all fields."""
        return cls(fields, fields.names, _writable(fields))

    @classmethod
    def of_clients(cls, fields: Fields) -> t.Self:
        """Return the scope of clients before any field rule."""
        options = fields.options
        names = frozenset(filter(options.is_listed, fields.names))
        return cls(fields, names.difference(options.hidden), _writable(fields) & names)

    def of_user(self, rules: FieldRules, user: t.Any) -> Scope:
        """Return the part of the scope that rules leave to a user."""
        shown_if = rules.conditions("visible", user)
        written_if = rules.conditions("writable", user)
        hidden = {n for n, query in shown_if.items() if query is NO_RECORD}
        read_only = {n for n, query in written_if.items() if query is NO_RECORD}
        return replace(
            self,
            names=self.names - hidden,
            writable=self.writable - read_only,
            shown_if={n: shown_if[n] for n in shown_if if n not in hidden},
            written_if={n: written_if[n] for n in written_if if n not in read_only},
        )

    @cached_property
    def plain(self) -> frozenset[str]:
        """The names of the fields that the caller reads in all records."""
        return self.names.difference(self.shown_if)

    @property
    def conditional(self) -> frozenset[str]:
        """The names of the fields that the caller reads or writes in some records."""
        return frozenset(self.shown_if).union(self.written_if)

    def __iter__(self) -> Iterator[Field]:
        """Yield the stored fields that the caller reads."""
        return iter(self.everything.selected)

    def __getitem__(self, name: str) -> Field:
        """Return a field that the caller reads.

        :raises BadRequest: There is no such field for the caller.
        """
        if name not in self.names:
            raise refused(f"{self.path}{name}", problems.UNKNOWN_FIELD)

        field = self.fields.stored.get(name) or self.fields.id
        return at_path(self.path, field) if self.path else field

    def resolve_sort(self, name: str) -> Sequence[Field]:
        """Return the fields that a name sorts by.

        :raises BadRequest: There is no such field, or the database does not sort it, or
            the caller does not see it in all records.
        """
        field = self[name]
        fields = field.parts or (field,)

        if not all([each.conversion.is_sorted for each in fields]):
            raise refused(field.name, problems.INCOMPARABLE)

        if name in self.shown_if:
            raise refused(field.name, problems.SOMETIMES_HIDDEN)

        return fields

    def select(self, names: Iterable[str] | None) -> tuple[Field, ...]:
        """Return the fields to select: those listed and the identifier, or its parts.

        :param names: The names listed, or ``None`` for all.
        :raises BadRequest: A name is not a field.
        """
        if names is None:
            return self.everything.selected

        # Hooks add the others.
        extra = self.fields.options.extra
        fields = {name: self[name] for name in names if name not in extra}
        by_name = {field.name: field for field in self.fields.identifying} | fields
        return tuple([each for each in by_name.values() if not each.parts])

    @cached_property
    def everything(self) -> ResolvedQuery:
        """The query of all records and fields."""
        fields = self.fields.stored.items()
        readable = [field for name, field in fields if name in self.names]
        return ResolvedQuery(tuple(readable))

    @cached_property
    def selection(self) -> Selection:
        """The columns of all fields."""
        return Selection(self.everything.selected)


def _writable(fields: Fields) -> frozenset[str]:
    """Return the names of the fields that no option keeps clients from writing."""
    options, counts = fields.options, not fields.options.client_ids
    return frozenset(
        [
            name
            for name, field in fields.writable.items()
            if name not in options.readonly and not (counts and field.is_counted)
        ]
    )
