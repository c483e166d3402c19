"""The fields that bodies may name, and the values for them."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterable, Mapping, Set

from .. import problems
from ..problems import Problem
from .bounds import MAX_ERRORS, shortened

if t.TYPE_CHECKING:
    from .field import Field
    from .field_options import FieldOptions
    from .fields import Fields
    from .values import Cast


MAX_CASTS: t.Final = 256
"""The number of sets of names whose casts are remembered."""


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


class BodyFields:
    """The fields that the bodies of one kind of caller may name.

    :param fields: The fields that the caller may name anywhere.
    :param all: The fields of the model, hidden ones too.
    :param options: The options of the service.
    """

    def __init__(
        self, fields: Fields, all: Collection[Field], options: FieldOptions
    ) -> None:
        self._fields = fields
        self._options = options
        self._required = [field.name for field in all if field.is_required]
        self._writable = {field.name: field for field in all if field.is_writable}
        self._client_writable = frozenset(
            name for name, field in self._writable.items() if not field.is_readonly
        )
        self._casts: dict[tuple[str, ...], tuple[Cast, ...]] = {}

    def sent(self) -> Iterable[Field]:
        """Yield the fields that a body of a client may name, hidden ones too."""
        for name, field in self._writable.items():
            if name in self._client_writable:
                yield field

    def is_written(self, name: str) -> bool:
        """Return ``True`` if a body may name a field."""
        is_known = name in self._fields.names and name in self._writable
        return is_known or self.is_sent(name)

    def is_sent(self, name: str) -> bool:
        """Return ``True`` if a body of a client may name a field."""
        return name in self._client_writable

    def is_ignored(self, name: str) -> bool:
        """Return ``True`` for a field that is left out of the bodies of clients."""
        return self._options.is_ignored(name)

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

        writable, composite = self._writable, self._fields.composite
        values: dict[str, t.Any] = {}
        errors: dict[str, Problem] = {}
        unwritten: dict[str, t.Any] = {}

        for name, value in data.items():
            if errors and len(errors) > MAX_ERRORS:
                break

            if name in skip:
                continue

            field = None if name in keep else writable.get(name)

            if value is None and composite and name == composite.name:
                # Front ends send a new record with a null for its identifier.
                continue

            if field is None or (name in sent and field.is_refused(value)):
                if name not in self._fields.names:
                    errors[shortened(name)] = problems.UNKNOWN_FIELD
                elif (
                    name in sent and name not in keep and self._options.is_ignored(name)
                ):
                    continue
                elif is_compared and name not in self._fields.conditional:
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

    def missing(self, values: Collection[str]) -> list[str]:
        """Return the names of the fields that a new record needs and is not given."""
        return [name for name in self._required if name not in values]

    def replaceable(self) -> Iterable[Field]:
        """Yield the fields that an update resets unless the body names them."""
        fields = self._fields
        kept = fields.fixed | fields.write_once | fields.conditional

        # A caller can't repeat or change some fields: these stay.
        for field in self._fields:
            is_fixed = field.name in kept

            if field.is_writable and not (field.is_readonly or is_fixed):
                yield field
