"""The services of the current application, as one caller sees them. The OpenAPI
document, the data of the explorer and the types of TypeScript are made of this.
"""

from __future__ import annotations

import inspect
import typing as t
from dataclasses import dataclass

from flask import current_app

from ..authentication.limits import limits_of
from ..globals import current_records
from ..http.placeholders import fill_placeholders, placeholders_of, rule_of
from ..pagination import Pagination
from ..service.schemas import CustomSchemas, page_of
from ..signals import BODIES, EVENTS, method_named, METHODS, READS

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from ..context import Params
    from ..service import Service
    from ..service.schemas import Schema, Schemas

PACKAGE: t.Final = __name__.partition(".")[0]

SENDERS: t.Final = {event: method for method, event in EVENTS.items()}
"""The method that sends each event."""

SHOWING: t.Final = ("$select", "$populate")
"""The parts of a query that say what is shown of records."""

MANY: t.Final = ("create", "patch", "remove")
"""The methods that may take many records."""

DEFAULT: t.Final = "default"


@dataclass(frozen=True, kw_only=True)
class CallDescription:
    """One way to call a service."""

    method: str
    """The name of the method."""

    is_many: bool = False
    """``True`` for many records in place of one."""

    summary: str | None = None
    """A line about it, if it does not do what the method does with records."""

    text: str | None = None
    """A text of the application about it."""

    query: Mapping[str, Schema]
    """The schemas of the parts of the query, by name."""

    data: Schema | None = None
    """The schema of the data, or ``None`` if it takes none or is not known."""

    result: Schema | None = None
    """The schema of the result, or ``None`` if it is not known."""

    is_public: bool
    """``True`` if it needs no login."""

    limits: tuple[str, ...] = ()
    """Its limits, in words."""

    @property
    def has_id(self) -> bool:
        """``True`` if it names a record."""
        return method_named(self.method).has_id and not self.is_many

    @property
    def has_data(self) -> bool:
        """``True`` if it takes data."""
        return method_named(self.method).has_data

    @property
    def is_custom(self) -> bool:
        """``True`` for a method that is not one of the six."""
        return self.method not in METHODS


@dataclass(frozen=True, kw_only=True)
class ServiceDescription:
    """A service with what its caller may use."""

    path: str
    """Its path."""

    model: type | None
    """The model of its records, if there is one."""

    text: str | None
    """A text of the application about it."""

    id: str
    """The name of the field with the identifier."""

    schemas: Schemas
    """The schemas of its caller."""

    calls: tuple[CallDescription, ...]
    """The calls in the order of the methods: for one record, then for many."""

    events: Mapping[str, Schema]
    """The schemas of the events that clients get, by name."""

    ruled: frozenset[str]
    """The fields that not all callers see."""

    pages: Pagination
    """The sizes of pages."""

    media_types: tuple[str, ...]
    """The media types of bodies that it reads."""

    strategies: tuple[str, ...]
    """The names of the strategies that it accepts."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods."""
        return tuple(dict.fromkeys(call.method for call in self.calls))

    @property
    def page(self) -> Schema | None:
        """The schema of the pages that find answers, if it does."""
        if not self.schemas.is_paged or self.schemas.found is not None:
            return None

        return next((each.result for each in self.calls if each.method == "find"), None)

    @property
    def is_readable(self) -> bool:
        """``True`` if it shows records to its caller."""
        return not frozenset(READS).isdisjoint(self.methods)

    @property
    def placeholders(self) -> list[str]:
        """The names of the placeholders in the path."""
        return placeholders_of(rule_of(self.path))

    def path_with(self, form: str) -> str:
        """Return the path, which begins with a slash, with its placeholders in a form.

        :param form: The form, such as ``"{{{}}}"``, for the name.
        """
        return fill_placeholders(rule_of(self.path), form.format)


def describe(
    params: Params | None = None, *, only_usable: bool = False
) -> tuple[ServiceDescription, ...]:
    """Return the services of the current application, as one caller sees them.

    :param params: The params of the caller, with its login, or ``None`` for what all
        clients together see.
    :param only_usable: Leave out the methods that need a login which the caller does
        not have, the events of services that the caller may not read, and services
        without any method left.
    """
    return tuple(_services(params, only_usable=only_usable))


def _services(
    params: Params | None, *, only_usable: bool
) -> Iterator[ServiceDescription]:
    records = current_records

    for service in records.services.values():
        accepts = not only_usable or params is None or records.accepts(service, params)
        methods = [
            method for method in service.methods if accepts or method in service.public
        ]

        if not methods:
            continue

        schemas = service.capabilities.schemas_for(params)
        # Others make changes that the caller may not make.
        gets_events = accepts or not service.public.isdisjoint(READS)
        pages = getattr(service.target, "pagination", None)
        yield ServiceDescription(
            path=service.path,
            model=service.capabilities.model,
            text=schemas.record.get("description") or _text_of(service.target),
            id=service.capabilities.id,
            schemas=schemas,
            calls=tuple(_calls(service, schemas, methods)),
            events=dict(_events(service, schemas)) if gets_events else {},
            ruled=frozenset(service.capabilities.field_rules.visible),
            pages=pages if isinstance(pages, Pagination) else Pagination(),
            media_types=records.media_types_of(service),
            strategies=tuple(records.strategies_of(service)),
        )


def _calls(
    service: Service, schemas: Schemas, methods: Collection[str]
) -> Iterator[CallDescription]:
    for method in methods:
        yield _call(service, schemas, method, is_many=False)

        if method in MANY and method in schemas.multi:
            yield _call(service, schemas, method, is_many=True)


def _call(
    service: Service, schemas: Schemas, method: str, *, is_many: bool
) -> CallDescription:
    data, result = _data_and_result(schemas, method, is_many=is_many)
    return CallDescription(
        method=method,
        is_many=is_many,
        summary=schemas.summaries.get(method),
        text=_text_of(getattr(service.target, method)),
        query=_query(schemas, method, is_many=is_many),
        data=data,
        result=result,
        is_public=method in service.public,
        limits=tuple(limits_of(current_app, service.path, method)),
    )


def _data_and_result(
    schemas: Schemas, method: str, *, is_many: bool
) -> tuple[Schema | None, Schema | None]:
    """Return the schemas of the data and of the result of a call."""
    record = schemas.record
    records: Schema = {"type": "array", "items": record}

    if method not in METHODS:
        return schemas.custom.get(method, CustomSchemas())

    if method == "find":
        listed = page_of(records) if schemas.is_paged else records
        return None, listed if schemas.found is None else schemas.found

    data: Schema | None = getattr(schemas, method) if method in BODIES else None

    if not is_many:
        return data, record

    if method == "create":
        return {"type": "array", "items": data}, records

    return data, records if schemas.many is None else schemas.many


def _query(schemas: Schemas, method: str, *, is_many: bool) -> Mapping[str, Schema]:
    """Return the schemas of the parts of the query of a call."""
    query: Mapping[str, Schema] = schemas.query.get("properties", {})

    if method == "find":
        return query

    if method not in METHODS:
        return {}

    if not is_many or method == "create":
        return {name: query[name] for name in SHOWING if name in query}

    # Writes of many records have no pages.
    limit = {k: v for k, v in query.get("$limit", {}).items() if k != DEFAULT}
    return {**query, "$limit": limit} if "$limit" in query else query


def _events(service: Service, schemas: Schemas) -> Iterator[tuple[str, Schema]]:
    """Yield the names of the events of a service that clients may get, and the schemas
    of their data.
    """
    for event in (*SENDERS, *service.custom_events):
        is_custom = event not in SENDERS
        is_sent = SENDERS.get(event) in service.methods or event in schemas.events
        is_published = service.sends_events or service.publishers.of(event) is not None

        if is_published and (is_custom or is_sent):
            usual = {} if is_custom else schemas.record
            yield event, schemas.events.get(event, usual)


def _text_of(part: t.Any) -> str | None:
    """Return the text of the application about an object, or about a method of it."""
    is_own = not part.__module__.startswith(f"{PACKAGE}.")
    return inspect.getdoc(part) if is_own else None
