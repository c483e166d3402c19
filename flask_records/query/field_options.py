"""The options of a service that concern its fields."""

from __future__ import annotations

import typing as t
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class FieldOptions:
    """Options of the fields of a model, for one kind of caller."""

    id: str | None = None
    """The name of the identifier field. The primary key by default."""

    hidden: Collection[str] = ()
    """Fields that do not exist for the caller. They can still be written."""

    readonly: Collection[str] = ()
    """Fields that a client can't write."""

    client_ids: bool = False
    """``True`` if a client can write keys that the database counts up."""


DEFAULTS: t.Final = FieldOptions()
"""The options of a service that names none."""
