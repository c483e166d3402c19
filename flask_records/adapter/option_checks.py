"""Checks of a model, when an application is set up."""

from __future__ import annotations

import re
import typing as t

from ..errors import BadRequest
from ..names import READS
from ..query.field import values_of
from ..query.fields import NO_NAME
from ..query.paths import path_problem
from ..query.syntax import resolve
from .bodies import Constructor

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from flask import Flask

    from ..query import Field
    from .model import ServedModel

RULED: t.Final = """\
'{option}' has a rule for '{name}', which clients can't see or write anyway, or which \
identifies the records.\
"""

UNFIT: t.Final = "The rule of '{name}' in '{option}' does not fit: {error}"

NAME_CLASH: t.Final = """\
'extra_fields' names {names} of '{model}', which has a field or a relationship of this \
name. Give the values of hooks other names.\
"""

SECRETS: t.Final = """\
Clients can read %s of '%s', named like secrets. Hide them, \
SQLAlchemyService(%s, hidden=%s), or let clients read them: \
visible=dict.fromkeys(%s, True).\
"""

UNTRIED: t.Final = """\
'%s.%s' is of type %r, which takes none of the values that it was tried with. Clients \
see and send what it binds. To be sure, give it a form on the wire: \
converters={%s: Converter(read, show)}.\
"""

SECRET: t.Final = re.compile(
    r"""
    (?! .*_(algorithm|id|name|policy|status|type|uri|url)_$ )
    (.*passw | .*_(
        apikey | credentials? | dek | encrypted | jti | jwt | masterpass | otp | pass
        | passphrase | privkey | pwd | pwdhash | salt | secrets? | tokens? | totp
        | uniquifier | (backup|confirmation|recovery|reset)_codes?
        | (access|activation|api|auth|encryption|master|private|reset)_key
        | (session|shared|signing)_key | (api|auth|code|key|pin)_hash
    )_)
    """,
    re.VERBOSE,
)
"""Names like names of secrets, with an underscore around each word."""

NO_ARGUMENT: t.Final = """\
The constructor of '{model}' needs {names}, which no body can name. Give it a default, \
"""

NO_IDENTITY: t.Final = """\
{names} has no 'polymorphic_identity', so that SQLAlchemy loads no records of its own. \
Give it one, \
"""

WRITE_ONLY: t.Final = """\
SQLAlchemy can't remove records of '{model}', which has write-only relationships: \
{names}. Give them passive_deletes=True, \
"""

LEFT_OUT: t.Final = "or leave '{method}' out: records.add(..., methods={methods})."

WORDS: t.Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""The words of a name, which may be in camel case."""


def check_options(model: ServedModel, app: Flask, methods: Collection[str]) -> None:
    """Refuse options that do not fit the model. Log warnings for types whose form was
    not found by trying, and for fields with the names of secrets.
    """
    problems = [*_name_problems(model), *_rule_problems(model)]
    problems += _method_problems(model, methods)

    if problems:
        raise ValueError("\n".join(problems))

    _warn_of_forms(model, app)

    if any(name in methods for name in READS):
        _warn_of_secrets(model, app)


def _rule_problems(model: ServedModel) -> Iterator[str]:
    """Yield the rules of fields that clients do not see or write, or that identify the
    record, and rules as queries that do not fit the fields.
    """
    scope, rules = model.generic.clients, model.rules
    visible = [*rules.visible, *sorted(rules.shown_to_all)]
    checks = [("visible", name, scope.names) for name in visible]
    checks += [("writable", name, scope.writable) for name in rules.writable]

    for option, name, names in checks:
        rule = getattr(rules, option).get(name)

        if name in scope.fields.fixed or name not in names:
            yield RULED.format(option=option, name=name)
        elif rule is not None and rule.query is not None:
            try:
                resolve(rule(None), model.syntax, model.generic.paths)
            except BadRequest as error:
                yield UNFIT.format(option=option, name=name, error=error.message)


def _name_problems(model: ServedModel) -> Iterator[str]:
    """Yield the names in options that are not relationships of the model, or fields."""
    options, fields = model.options, model.generic.fields.stored
    relationships, class_ = model.mapper.relationships, model.mapped_class.__name__
    converted = [key for key in options.converters if isinstance(key, str)]
    followed = [each for each in relationships if each.key in model.relations]
    to_one = [each for each in followed if not each.uselist]
    paths = [f"{each.key}.{n}" for each in to_one for n in values_of(each.mapper)]
    operators = model.syntax.operators.values()
    operands = [name for each in operators for name in each.fields or ()]
    checks: list[tuple[str, Iterable[str], Collection[str], str]] = [
        # A value without a form on the wire is hidden from everybody.
        ("hidden", options.hidden, values_of(model.mapper), "field"),
        ("readonly", options.readonly, fields, "field"),
        ("write_once", options.write_once, fields, "field"),
        ("fields", options.listed or (), fields, "field"),
        ("converters", converted, fields, "field"),
        ("operators", operands, fields, "field"),
        ("aggregates", model.aggregates, [*fields, *paths], "field"),
        ("populate", model.populate_paths, relationships.keys(), "relationship"),
        ("relations", model.relations, relationships.keys(), "relationship"),
    ]

    for relationship in followed:
        if problem := path_problem(relationship):
            yield problem.format(name=relationship.key)

    other_names = {*fields, *relationships.keys(), model.generic.fields.id.name}

    if clashes := other_names.intersection(options.extra):
        yield NAME_CLASH.format(names=", ".join(clashes), model=class_)

    for option, names, choices, noun in checks:
        for name in names:
            if name not in choices:
                choice = ", ".join(choices) or "none"
                yield NO_NAME.format(option, name, noun, class_, choice)


def _method_problems(model: ServedModel, methods: Collection[str]) -> Iterator[str]:
    """Yield the arguments that the constructor needs, and no body can name, a base
    class without records of its own, and relationships that a removal can't load.
    """
    fields, mapper, class_ = model.generic.fields, model.mapper, model.mapped_class
    writable = {*fields.writable, *model.writable}
    is_base = mapper.polymorphic_on is not None and mapper.polymorphic_identity is None
    unloaded = [
        name
        for name, each in mapper.relationships.items()
        if each.lazy == "write_only" and not (each.passive_deletes or each.viewonly)
    ]
    arguments = [n for n in Constructor(fields).required if n not in writable]
    checks = [
        ("create", NO_ARGUMENT, arguments),
        ("create", NO_IDENTITY, [class_.__name__] if is_base else []),
        ("remove", WRITE_ONLY, unloaded),
    ]

    for method, text, names in checks:
        if names and method in methods:
            others = [each for each in methods if each != method]
            yield (text + LEFT_OUT).format(
                model=class_.__name__,
                names=", ".join(map(repr, names)),
                method=method,
                methods=others,
            )


def _warn_of_forms(model: ServedModel, app: Flask) -> None:
    for field in model.generic.clients:
        if field.conversion.doubt:
            name, type_ = model.mapped_class.__name__, field.column.type
            class_ = type(type_).__name__
            app.logger.warning(UNTRIED, name, field.name, type_, class_)


def _warn_of_secrets(model: ServedModel, app: Flask) -> None:
    """Log a warning for fields that clients may read whose names are like names of
    secrets, unless ``fields`` or a rule names them.
    """
    if model.options.listed is not None:
        return

    rule_names = model.rules.visible.keys() | model.rules.shown_to_all
    names = [
        field.name
        for field in model.generic.clients
        if field.name not in rule_names and _is_like_secret(field)
    ]

    if names:
        text, name = ", ".join(map(repr, names)), model.mapped_class.__name__
        app.logger.warning(SECRETS, text, name, name, names, names)


def _is_like_secret(field: Field) -> bool:
    """Return ``False`` for flags, numbers, times and choices, whatever their name."""
    schema = field.conversion.schema
    kinds = ("boolean", "integer", "number")
    formats = ("date", "date-time", "time")
    is_text = schema.get("type") not in kinds and schema.get("format") not in formats
    words = "_".join(["", *WORDS.findall(field.name), ""]).lower()
    return is_text and "enum" not in schema and SECRET.match(words) is not None
