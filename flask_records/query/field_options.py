"""The options of a service that concern its fields."""

from __future__ import annotations

import typing as t
from collections.abc import Collection
from dataclasses import dataclass
from dataclasses import replace


@dataclass(frozen=True, kw_only=True)
class FieldOptions:
    """Options of the fields of a model, for one kind of caller."""

    id: str | None = None
    """The name of the identifier field. The primary key by default."""

    hidden: Collection[str] = ()
    """Fields that do not exist for the caller. They can still be written."""

    readonly: Collection[str] = ()
    """Fields that a client can't write."""

    write_once: Collection[str] = ()
    """Fields that a client can write in create only."""

    listed: Collection[str] | None = None
    """The only fields that clients know of, besides the identifier. All by default."""

    exclude: Collection[str] = ()
    """Names of the model that are no fields at all."""

    client_ids: bool = False
    """``True`` if a client can write keys that the database counts up."""

    def is_listed(self, name: str) -> bool:
        """Return ``True`` for a field that clients may know of."""
        return self.listed is None or name in self.listed or name == self.id

    def is_readonly(self, name: str) -> bool:
        """Return ``True`` for a field that clients can't write."""
        return name in self.readonly or not self.is_listed(name)

    def for_application(self) -> FieldOptions:
        """Return the options for the application, which knows of all fields."""
        return replace(self, hidden=(), listed=None)


DEFAULTS: t.Final = FieldOptions()
"""The options of a service that names none."""
