"""A model as a service serves it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from functools import cached_property

import sqlalchemy as sa

from ..query import Fields
from .database import Database
from .populate import Populate, populated
from .related import Relations, writable_relations
from .view import Views

if t.TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

    from sqlalchemy import orm

    from ..context import Params
    from ..query import FieldOptions, FieldRules, Operator, Syntax
    from ..query.field_rules import Permissions
    from .related import WritableRelation
    from .sources import SessionSource

MAX_VIEWS: t.Final = 64
"""The number of sets of fields with rules whose statements are remembered."""


@dataclass(kw_only=True, eq=False)
class ServedModel:
    """A model, with its database, its relationships and the views of its callers.

    These are made when an application is set up or at the first use, whichever is
    first, so that a module can name a service before all models are mapped or
    reflected.
    """

    mapped_class: type[t.Any]
    """The mapped class."""

    source: SessionSource
    """The source of sessions."""

    options: FieldOptions
    """The options of the fields."""

    rules: FieldRules
    """The rules for the fields that a user may see or write."""

    operators: Mapping[str, Operator]
    """The operators that may stand below a field, by name."""

    syntax: Syntax
    """The names that queries may use."""

    populate_paths: Mapping[str, str]
    """The paths of the services that show relationships, by their names."""

    writable_relations: Collection[str]
    """The names of the relationships that bodies may name."""

    _ruled_views: dict[Hashable, Views] = field(default_factory=dict, init=False)

    @cached_property
    def application(self) -> Views:
        """The views of the application."""
        return self._make_views(self.options.for_application())

    @cached_property
    def clients(self) -> Views:
        """The views of clients, as far as no rule hides a field."""
        return self._make_views(self.options)

    @cached_property
    def database(self) -> Database:
        """The database."""
        return Database(self.source, self.application.fields.mapper)

    @cached_property
    def populate(self) -> Populate:
        """The relationships that can be shown."""
        return Populate(self.clients.fields, self.populate_paths)

    @cached_property
    def writable(self) -> Mapping[str, WritableRelation]:
        """The relationships that can be written, by name."""
        mapper = t.cast("orm.Mapper[t.Any]", sa.inspect(self.mapped_class))
        return writable_relations(self.writable_relations, mapper, self.populate_paths)

    def views_of(self, params: Params) -> tuple[Views, Permissions | None]:
        """Return the views of a caller, with what the rules for fields say for it, if
        there are any.
        """
        if params.provider is None:
            return self.application, None

        if not self.rules:
            return self.clients, None

        permissions = self.rules.of(params.user)
        return self._views_with(permissions), permissions

    def _views_with(self, permissions: Permissions) -> Views:
        """Return the views of clients for whom the rules say the same."""
        views = self._ruled_views.get(permissions.key)

        if views is None:
            options = self.options.restricted(
                permissions.hidden, permissions.readonly, permissions.conditional
            )
            views = self._make_views(options)

            if len(self._ruled_views) >= MAX_VIEWS:
                self._ruled_views.clear()

            self._ruled_views[permissions.key] = views

        return views

    def _make_views(self, options: FieldOptions) -> Views:
        fields = Fields(self.mapped_class, options)
        shown = populated(fields) if self.syntax.populates else {}
        relations = Relations(shown.keys(), self.writable)
        return Views(fields, self.operators, relations)
