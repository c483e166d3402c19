"""The services of the current application, as one caller sees them. The OpenAPI
document, the data of the explorer and the types of TypeScript are made of this.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from functools import cached_property
from inspect import getdoc, isasyncgenfunction, isgeneratorfunction
from itertools import count

from flask import current_app

from ..adapter.model_schemas import docstring
from ..authentication.access import is_in_scope
from ..authentication.records import current_records
from ..http.routes import fill_placeholders, placeholders_of, rule_of
from ..names import BODIES, EVENTS, MANY, method_named, METHODS, READS
from ..pagination import Pagination
from ..query.groups import PARAMETERS as GROUPING
from ..query.groups import ZONE
from ..query.operators import LIMIT, POPULATE, SELECT, SORT
from ..service.context import Params
from ..service.schemas import list_of, OBJECT, object_of, page_of, schemas_of

if t.TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..service import Service
    from ..service.schemas import Schema, Schemas

Part = t.TypeVar("Part")

PACKAGE: t.Final = __name__.partition(".")[0]

SENDERS: t.Final = {event: method for method, event in EVENTS.items()}
"""The method that sends each event."""

WORD = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True)
class ServiceDescription:
    """A service with what its caller may use. Its schemas are made when one is asked
    for: the list of many services needs none.
    """

    service: Service
    """The service itself."""

    params: Params | None
    """The params of its caller, or ``None`` for what all clients together see."""

    methods: tuple[str, ...]
    """The names of the methods."""

    has_events: bool
    """``True`` if its events are for the caller."""

    @property
    def path(self) -> str:
        """Its path."""
        return self.service.path

    @property
    def tag(self) -> str:
        """The name of the group of its operations."""
        return self.path_with("{{{}}}").lstrip("/")

    @property
    def id(self) -> str:
        """The name of the field with the identifier."""
        return self.service.capabilities.id

    @property
    def pages(self) -> Pagination:
        """The sizes of pages."""
        pages = getattr(self.service.target, "pagination", None)
        return pages if isinstance(pages, Pagination) else Pagination()

    @property
    def text(self) -> str | None:
        """A text of the application about it."""
        model = self.service.capabilities.model
        text = docstring(model) if model else self.schemas.record.get("description")
        return text or _text_of(self.service.target)

    @property
    def is_paged(self) -> bool:
        """``True`` if find answers pages."""
        has_model = self.service.capabilities.model is not None
        return self.pages.is_on if has_model else self.schemas.is_paged

    def attempt(self, describe: Callable[[], Part]) -> Part | None:
        """Return a part of the description, or ``None`` if the application's own code
        fails at it: this is in the log, and takes no other service with it.
        """
        try:
            return describe()
        except Exception:
            current_app.logger.exception("'%s' can't be described.", self.path)
            return None

    def is_sound(self) -> bool:
        """Return whether all of it can be described. A failure is in the log."""
        return self.attempt(lambda: (self.schemas, self.text, self.calls)) is not None

    @cached_property
    def schemas(self) -> Schemas:
        """The schemas of its caller."""
        return schemas_of(self.service, self.params)

    @cached_property
    def calls(self) -> tuple[CallDescription, ...]:
        """The calls in the order of the methods: for one record, then for many."""
        return tuple(
            CallDescription(self, method, is_many)
            for method in self.methods
            for is_many in (False, True)
            if not is_many or (method in MANY and method in self.schemas.multi)
        )

    @cached_property
    def event_names(self) -> tuple[str, ...]:
        """The names of the events that clients get."""
        service = self.service
        names = (*SENDERS, *service.custom_events) if self.has_events else ()
        return tuple(
            event
            for event in names
            if service.sends_events or service.publish.order(event)
            if event not in SENDERS or SENDERS[event] in service.methods
        )

    @cached_property
    def page(self) -> Schema | None:
        """The schema of the pages that find answers, if it does."""
        is_page = self.schemas.is_paged and self.schemas.found is None
        counts = self.pages.total
        return page_of(self.schemas.item, is_counted=counts) if is_page else None

    @property
    def placeholders(self) -> list[str]:
        """The names of the placeholders in the path."""
        return placeholders_of(rule_of(self.path))

    def path_with(self, form: str) -> str:
        """Return the path with its placeholders in a form such as ``"{{{}}}"``."""
        return fill_placeholders(rule_of(self.path), form.format)


@dataclass(frozen=True)
class CallDescription:
    """One way to call a service."""

    service: ServiceDescription
    """The service."""

    method: str
    """The name of the method."""

    is_many: bool
    """``True`` for many records in place of one."""

    @property
    def has_id(self) -> bool:
        """``True`` if it names a record."""
        return method_named(self.method).has_id and not self.is_many

    @property
    def creates_many(self) -> bool:
        """``True`` if it takes and returns a list."""
        return self.is_many and self.method == "create"

    @property
    def is_custom(self) -> bool:
        """``True`` for a method that is not one of the six."""
        return self.method not in METHODS

    @property
    def is_public(self) -> bool:
        """``True`` if it needs no login."""
        return self.method in self.service.service.public

    @property
    def is_streamed(self) -> bool:
        """``True`` if the result comes piece by piece, of which it is a schema then."""
        function = self._function
        return isgeneratorfunction(function) or isasyncgenfunction(function)

    @property
    def summary(self) -> str | None:
        """A line about it, if it does not do what the method does with records."""
        return self.service.schemas.summaries.get(self.method)

    @property
    def text(self) -> str | None:
        """A text of the application about it."""
        return _text_of(self._function)

    @cached_property
    def own_query(self) -> Schema | None:
        """The schema of the query, if a class checks it."""
        return self._schema_of("query")

    @cached_property
    def query(self) -> Schema:
        """The schema of the query."""
        query = self.service.schemas.query
        parts: Mapping[str, Schema] = query.get("properties", {})

        if self.own_query is not None or self.method == "find":
            return self.own_query or query

        if self.is_custom:
            return OBJECT

        if self.is_many and not self.creates_many:
            return object_of(_without_groups(parts))

        names = [name for name in (SELECT, POPULATE) if name in parts]
        return object_of({name: parts[name] for name in names})

    @cached_property
    def data(self) -> Schema | None:
        """The schema of the data, or ``None`` if it takes none or is not known."""
        if self.method not in BODIES:
            return self._schema_of("data")

        data: Schema = getattr(self.service.schemas, self.method)
        return list_of(data) if self.creates_many else data

    @cached_property
    def result(self) -> Schema | None:
        """The schema of the result, or ``None`` if it is not known."""
        schemas = self.service.schemas

        if self.is_custom:
            return self._schema_of("result")

        if self.method == "find" and not self.is_streamed:
            answer = self.service.page or list_of(schemas.item)
            return answer if schemas.found is None else schemas.found

        if not self.is_many or self.is_streamed:
            return schemas.record

        many = None if self.creates_many else schemas.many
        return list_of(schemas.record) if many is None else many

    @property
    def _function(self) -> t.Any:
        return getattr(self.service.service.target, self.method)

    def _schema_of(self, part: t.Literal["data", "query", "result"]) -> Schema | None:
        schema = getattr(self.service.service.schemas.get(self.method), part, None)
        return schema and schema.json_schema("body" if part == "data" else part)


def describe(
    params: Params | None = None, *, only_usable: bool = False
) -> tuple[ServiceDescription, ...]:
    """Return the services of the current application, as one caller sees them.

    :param params: The params of the caller, or ``None`` for what all clients see.
    :param only_usable: Leave out the methods that the caller may not call, the events
        of services that it may not read, and services without any method left.
    """
    descriptions = []

    for service in current_records.services.values():
        accepts, caller, methods = True, params, service.methods

        if params is not None and only_usable:
            accepts = current_records.accesses[service.path].accepts(params)
            # Nobody is logged in by a login that the service does not accept.
            is_other = params.authenticator is not None and not accepts
            own = caller = Params(provider=params.provider) if is_other else params
            methods = tuple(
                method
                for method in service.methods
                if accepts or method in service.public
                if service.rules.may_call(method, own.user)
                and is_in_scope(own, service.path, method)
            )

        # Other callers make changes that this one may not make.
        reads = [method for method in READS if method in service.methods]
        has_events = any(each in methods for each in reads) if reads else accepts

        if methods:
            description = ServiceDescription(service, caller, methods, has_events)
            descriptions.append(description)

    return tuple(descriptions)


def references_of(
    path: str, services: Mapping[str, ServiceDescription]
) -> dict[str, t.Any]:
    """Return the fields with foreign keys from a service and to it: the paths to which
    its own lead, as ``references``, and the fields of others, as ``referrers``.
    """
    columns = [
        (of, field.name, column)
        for of, each in services.items()
        for field in each.service.capabilities.scope_for(each.params) or ()
        for column in getattr(getattr(field.column, "property", None), "columns", ())
    ]
    # Of several services over a model, the first one counts.
    identified = {
        column: of for of, name, column in reversed(columns) if name == services[of].id
    }
    references = [
        (of, name, identified[key.column])
        for of, name, column in columns
        for key in column.foreign_keys
        if key.column in identified
    ]
    return {
        "references": {name: to for of, name, to in references if of == path},
        "referrers": [
            {"path": of, "field": name} for of, name, to in references if to == path
        ],
    }


def type_names(ends: Collection[str], reserved: Collection[str]) -> dict[str, str]:
    """Return a type name for the records of each service, by path: the service's own
    name, or one made of its path. With the ends of the names of its types, none is the
    name of another type, or reserved.
    """
    services = current_records.services.values()
    full_names = set(reserved)
    names = {}

    # The names that the application gives come first.
    for service in sorted(services, key=lambda service: service.name is None):
        name = first = service.name or _name_of_path(service.path)
        numbers = count(2)

        while not full_names.isdisjoint(f"{name}{end}" for end in ends):
            name = f"{first}{next(numbers)}"

        names[service.path] = name
        full_names.update(f"{name}{end}" for end in ends)

    return names


def _without_groups(parts: Mapping[str, Schema]) -> Mapping[str, Schema]:
    """Return the parts of a query of find that a write of many records takes: it has no
    pages and no groups.
    """
    parts = {n: each for n, each in parts.items() if n not in {*GROUPING, ZONE}}

    if LIMIT in parts:
        limit = {k: v for k, v in parts[LIMIT].items() if k != "default"}
        fields = parts[SORT]["properties"]
        fields = {name: each for name, each in fields.items() if name[0] != "$"}
        parts |= {LIMIT: limit, SORT: {**parts[SORT], "properties": fields}}

    return parts


def _text_of(part: t.Any) -> str | None:
    is_own = not part.__module__.startswith(f"{PACKAGE}.")
    return getdoc(part) if is_own else None


def _name_of_path(path: str) -> str:
    name = words_of(fill_placeholders(rule_of(path), lambda name: "")) or "Root"
    return name if name[0].isalpha() else f"The{name}"


def words_of(text: str) -> str:
    """Return the words of a text as a name of a type."""
    return "".join([f"{word[0].upper()}{word[1:]}" for word in WORD.findall(text)])
