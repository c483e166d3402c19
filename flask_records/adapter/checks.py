"""Checks of the options of a service: alone, by its model and by its database."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import sqlalchemy as sa

from ..query.syntax import POPULATE
from .app_sessions import add_session
from .sources import known_bind

if t.TYPE_CHECKING:
    from collections.abc import Collection

    from flask import Flask

    from .served_model import ServedModel

UNWRITTEN: t.Final = """\
'write_once' names '{name}', which clients can't write anyway. Remove it there.\
"""

WRITE_ONLY: t.Final = """\
A record of '{model}' can't be removed while '{model}.{name}' is write-only: let the \
database do it with relationship(passive_deletes=True), or add the service without \
'remove' in its methods.\
"""

RULED: t.Final = """\
'{option}' has a rule for '{name}', which clients can't see or write anyway, or which \
identifies the records.\
"""


def check_class(model: t.Any) -> None:
    """Refuse a model that is not a class.

    :raises TypeError: It is not.
    """
    if isinstance(model, type):
        return

    if isinstance(model, sa.Table):
        raise TypeError(
            f"'{model.name}' is a table. Map a class to it, and give the class:"
            " SQLAlchemyService(Model)."
        )

    name = type(model).__name__
    raise TypeError(
        f"The model has to be a class, not an instance of '{name}'. Give the class:"
        f" SQLAlchemyService({name if sa.inspect(model, False) else 'Model'})."
    )


def check_bigints(value: t.Any) -> None:
    """Refuse a form of big integers that does not exist.

    :raises ValueError: There is no such form.
    """
    if value not in ("number", "text"):
        raise ValueError(f"'bigints' is 'number' or 'text', not {value!r}.")


def check_populate(
    value: t.Any, whitelist: Collection[str], writable_relations: Collection[str]
) -> None:
    """Refuse paths of services that are not named by relationships, and those that
    nothing uses.

    :raises TypeError: The option is not a mapping.
    :raises ValueError: Neither queries nor bodies can name a relationship.
    """
    if not isinstance(value, Mapping):
        raise TypeError(
            "'populate' maps relationships to paths of services:"
            f' populate={{"author": "users"}}, not {value!r}.'
        )

    if POPULATE in whitelist:
        return

    for name in value:
        if name not in writable_relations:
            raise ValueError(
                f"'populate' names '{name}', and no query can. Let queries do so:"
                " whitelist=['$populate']."
            )


def check_rules(model: ServedModel) -> None:
    """Refuse rules for fields that clients do not see or write, and fields that they
    write once, but can't write.

    :raises ValueError: A name is not a field, or identifies the records.
    """
    fields, rules = model.clients.fields, model.rules

    for option, names in (("visible", rules.visible), ("writable", rules.writable)):
        is_known = (
            fields.body.is_sent if option == "writable" else fields.names.__contains__
        )

        for name in names:
            if name in fields.fixed or not is_known(name):
                raise ValueError(RULED.format(option=option, name=name))

    for name in model.options.write_once:
        if not fields.body.is_sent(name):
            raise ValueError(UNWRITTEN.format(name=name))


def check_removal(model: ServedModel, methods: Collection[str]) -> None:
    """Refuse ``remove`` for a model whose relationships SQLAlchemy can't load.

    :raises ValueError: A relationship is write-only, without ``passive_deletes``.
    """
    if "remove" not in methods:
        return

    for relationship in model.application.fields.mapper.relationships:
        if relationship.lazy == "write_only" and not relationship.passive_deletes:
            name = model.mapped_class.__name__
            raise ValueError(WRITE_ONLY.format(model=name, name=relationship.key))


def check_database(model: ServedModel, app: Flask) -> None:
    """Refuse a database that changes the values of a column. Log a warning for a column
    that holds less than it says. A database that is not known yet is not looked at.

    :raises ValueError: The database changes the values of a column.
    """
    add_session(app, model.source)

    with app.app_context():
        bind = known_bind(model.source, model.application.fields.mapper)

    if bind is None:
        return

    fields = model.application.on(bind.dialect).fields
    name = model.mapped_class.__name__

    for field in fields:
        if field.conversion.caution is not None and field.name in fields.columns:
            app.logger.warning(
                "'%s.%s': %s", name, field.name, field.conversion.caution
            )
