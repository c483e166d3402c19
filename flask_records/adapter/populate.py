"""Relationships, shown as the services of their models show them."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from contextlib import suppress

import sqlalchemy as sa
from sqlalchemy import orm

from ..errors import BadRequest, RecordsError
from ..globals import current_records
from ..problems import UNKNOWN_RELATIONSHIP
from ..query.bounds import shortened
from ..query.plans import Plan
from ..query.values import cast
from ..service.schemas import Relation
from .chunks import chunks
from .relationships import field_name, is_plain, key_field, local_column, remote_column

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ..context import Params
    from ..query import Fields
    from ..service import Service
    from ..typing import Record
    from .database import Database

LOOSE: t.Final = frozenset({"mysql", "mariadb"})
"""The databases whose usual collations ignore case."""


class Populate:
    """The relationships of a model that ``$populate`` can name: those whose keys a
    client may read, and whose model has a service.
    """

    def __init__(self, fields: Fields, paths: Mapping[str, str]) -> None:
        self._fields = fields
        self._paths = paths
        self._relationships = populated(fields)

    def check(self) -> None:
        """Check the names that the application gave.

        :raises ValueError: A name is not a relationship of the model.
        """
        for name in self._paths:
            if name not in self._fields.mapper.relationships:
                raise ValueError(
                    f"'populate' names '{name}', which is not a relationship of"
                    f" '{self._fields.model.__name__}'."
                )

    def links(
        self, names: Iterable[str], params: Params, fields: Collection[str]
    ) -> list[Link]:
        """Return the links to the relationships of a query.

        :param fields: The names of the fields that the caller sees in all records.
        :raises BadRequest: A name is not a relationship that can be shown.
        """
        return [self._link(name, params, fields) for name in dict.fromkeys(names)]

    def services_of(self, names: Iterable[str]) -> list[Service]:
        """Return the services that show relationships, as far as there are some."""
        named = [
            self._relationships[name] for name in names if name in self._relationships
        ]
        services = [service_of(relationship, self._paths) for relationship in named]
        return [service for service in services if service is not None]

    def relations(self, fields: Fields) -> dict[str, Relation]:
        """Return the relationships that a service shows, by name.

        :param fields: The fields that the caller knows of.
        """
        links = populated(fields)
        services = {name: service_of(link, self._paths) for name, link in links.items()}
        return {
            name: Relation(
                service.path, bool(links[name].uselist), key_field(links[name])
            )
            for name, service in services.items()
            if service is not None
        }

    def relations_of(
        self,
        database: Database,
        records: Sequence[Record],
        names: Iterable[str],
        params: Params,
        fields: Fields,
    ) -> list[Record]:
        """Return relationships of records by name, for each record. Those that the
        caller may not load are left out, and so are those whose key is not there.

        :param records: Records as they are in JSON.
        :param fields: The fields that the caller knows of.
        """
        relations: list[Record] = [{} for _ in records]

        for name in names:
            with suppress(RecordsError):
                link = self._link(name, params, fields.names - fields.conditional)
                key = link.local_name
                pairs = [p for p in zip(relations, records, strict=True) if key in p[1]]
                conversion = fields[key].conversion
                keys = [cast(conversion, p[1][key], in_query=False) for p in pairs]
                link.fill(database, [pair[0] for pair in pairs], keys, params)

        return relations

    def _link(self, name: str, params: Params, fields: Collection[str]) -> Link:
        relationship = self._relationships.get(name)

        if relationship is not None:
            service = service_of(relationship, self._paths)
            link = None if service is None else Link(relationship, service)

            if link and link.local_name in fields and link.is_shown_to(params):
                return link

        name = shortened(name)
        raise BadRequest(
            f"'{name}' is not a relationship that can be populated.",
            errors={name: UNKNOWN_RELATIONSHIP},
        )


def service_of(
    relationship: orm.RelationshipProperty[t.Any], paths: Mapping[str, str]
) -> Service | None:
    """Return the service that shows the records of a relationship, if there is one.

    :param paths: The paths of services by the names of relationships.
    """
    services = current_records.services
    path = paths.get(relationship.key)

    if path is not None and path in services:
        return services[path]

    if path is not None:
        raise RuntimeError(f"'populate' names '{path}', which is not a service.")

    model = relationship.mapper.class_
    shown = (each for each in services.values() if each.capabilities.model is model)
    return next(shown, None)


def populated(fields: Fields) -> dict[str, orm.RelationshipProperty[t.Any]]:
    """Return the relationships that a caller can load, by name."""
    return {
        relationship.key: relationship
        for relationship in fields.mapper.relationships
        if is_plain(relationship)
        and field_name(relationship.parent, local_column(relationship)) in fields.names
    }


class Link:
    """A relationship, and the service that shows its records."""

    def __init__(
        self, relationship: orm.RelationshipProperty[t.Any], service: Service
    ) -> None:
        self._relationship = relationship
        self._service = service
        self.name = relationship.key
        """The name of the relationship."""
        prop = relationship.parent.get_property_by_column(local_column(relationship))
        self.column: t.Any = prop.class_attribute
        """The key of the records of this end, which a read selects too."""
        self.local_name: str = prop.key
        """The field of this end that has the key."""
        self.remote_name = field_name(relationship.mapper, remote_column(relationship))
        """The field that identifies the records of the other end."""
        self._order_by = relationship.order_by or ()

    def is_shown_to(self, params: Params) -> bool:
        """Return ``True`` if a caller sees the key of the other end in all records."""
        fields = self._service.target.fields_for(params)
        return self.remote_name in fields.names - fields.conditional

    def fill(
        self,
        database: Database,
        records: Sequence[Record],
        keys: Sequence[t.Any],
        params: Params,
    ) -> None:
        """Set the relationship in every record, by the keys read with the records."""
        distinct = [key for key in dict.fromkeys(keys) if key is not None]
        by_key = self._related(database, distinct, params)
        name, is_list = self._relationship.key, self._relationship.uselist

        for record, key in zip(records, keys, strict=True):
            others = by_key.get(key, [])
            record[name] = others if is_list else next(iter(others), None)

    def _related(
        self, database: Database, keys: Sequence[t.Any], params: Params
    ) -> Mapping[t.Any, list[Record]]:
        """Return the records of the other end by the key of this end."""
        if not keys:
            return {}

        if self._relationship.secondary is None:
            return self._joined(database, keys, params)

        left = self._relationship.synchronize_pairs[0][1]
        pairs = self._pairs(database, left, keys)
        others = self._joined(database, list({pair[1] for pair in pairs}), params)
        related: dict[t.Any, list[Record]] = defaultdict(list)
        form = form_of_keys(database, left)

        for key, other_key in pairs:
            related[form(key)] += others[other_key]

        return {key: related[form(key)] for key in keys}

    def _joined(
        self, database: Database, keys: Sequence[t.Any], params: Params
    ) -> Mapping[t.Any, list[Record]]:
        """Return the records of the other end whose key is one of some keys."""
        by_key: dict[t.Any, list[Record]] = defaultdict(list)
        form = form_of_keys(database, remote_column(self._relationship))

        for key, other in self._ordered(
            database, keys, self._others(keys, params), params
        ):
            by_key[form(key)].append(other)

        return {key: by_key[form(key)] for key in keys}

    def _ordered(
        self,
        database: Database,
        keys: Sequence[t.Any],
        others: list[tuple[t.Any, Record]],
        params: Params,
    ) -> list[tuple[t.Any, Record]]:
        """Return records with their keys, in the order of the relationship."""
        # That of a table between the two comes with its pairs.
        if not self._order_by or self._relationship.secondary is not None or not others:
            return others

        fields = self._service.target.fields_for(params).identifying
        columns = [field.column for field in fields]
        ordered = sa.select(*columns).order_by(*self._order_by)
        remote = remote_column(self._relationship)
        places: dict[t.Any, int] = {}

        with database.reading() as reading:
            for chunk in chunks(keys):
                statement = ordered.where(remote.in_(chunk))

                for row in reading.rows(Plan(statement, {})):
                    places.setdefault(tuple(row), len(places))

        def place(pair: tuple[t.Any, Record]) -> int:
            # A hook may have removed the identifier.
            id = tuple([pair[1].get(field.name) for field in fields])
            return places.get(id, len(places))

        return sorted(others, key=place)

    def _pairs(
        self, database: Database, left: t.Any, keys: Sequence[t.Any]
    ) -> list[tuple[t.Any, t.Any]]:
        relationship = t.cast("t.Any", self._relationship)
        right = relationship.secondary_synchronize_pairs[0][1]
        statement = sa.select(left, right)
        pairs: list[tuple[t.Any, t.Any]] = []

        if self._order_by:
            statement = statement.where(relationship.secondaryjoin)

        with database.reading() as reading:
            for chunk in chunks(keys):
                chosen = statement.where(left.in_(chunk))
                ordered = chosen.order_by(*self._order_by, left, right)
                rows: Sequence[t.Any] = reading.rows(Plan(ordered, {}))
                pairs += [(row[0], row[1]) for row in rows]

        return pairs

    def _others(
        self, keys: Sequence[t.Any], params: Params
    ) -> list[tuple[t.Any, Record]]:
        """Return records of the other end as the caller sees them there, by key."""
        others = self._service.part_of_call(params)
        records: list[Record] = []

        for chunk in chunks(keys):
            query = {self.remote_name: {"$in": chunk}}
            records += others.run("find", query).sent

        name = self.remote_name
        conversion = self._service.target.fields_for(params)[name].conversion
        is_text = name in self._service.capabilities.text_fields
        # The value in the record may be another form of the key.
        read = conversion.cast if is_text or conversion.show else _same
        # A hook may have removed the key.
        return [(read(record[name]), record) for record in records if name in record]


def form_of_keys(database: Database, column: t.Any) -> Callable[[t.Any], t.Any]:
    """Return a function that makes keys the same that MariaDB and MySQL compare as
    equal: texts that differ by case, or by spaces at the end.
    """
    dialect = database.reading().dialect
    is_loose = dialect.name in LOOSE and not is_exact(column, dialect)
    return _folded if is_loose else _same


def is_exact(column: t.Any, dialect: sa.Dialect) -> bool:
    """Return ``True`` if a model gives a column a collation that ignores nothing."""
    options = column.table.kwargs
    table = options.get("mariadb_collate") or options.get("mysql_collate")
    type_ = column.type.dialect_impl(dialect)
    collation = getattr(type_, "collation", None) or table or ""
    return str(collation).endswith("_bin")


def _folded(key: t.Any) -> t.Any:
    return key.casefold().rstrip() if isinstance(key, str) else key


def _same(value: t.Any) -> t.Any:
    return value
