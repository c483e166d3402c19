"""An application that serves the tables of a database as they are."""

from __future__ import annotations

import operator
import re
import typing as t
from urllib.parse import quote, unquote

import sqlalchemy as sa
from flask import Flask, redirect, url_for
from sqlalchemy import orm

from ..adapter import SQLAlchemyService
from ..explorer import Explorer
from ..extension import FlaskRecords
from ..http.body import parse_json
from ..names import METHODS, READS
from ..query.column_types import conversion_of
from ..realtime import Realtime

if t.TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

WHITELIST: t.Final = ("$and", "$ilike", "$like", "$nor", "$not", "$populate", "$search")

VALUES: t.Final = 10_000
"""The number of values of a column that are read to see whether they are of its type.
"""


def create_app(
    url: str, *, tables: Collection[str] = (), writes: bool = False
) -> tuple[Flask, Realtime, list[str]]:
    """Return an application that serves a database to everybody who reaches it, its
    real time, and a sentence for each table, view and column that is left out.

    :param url: The URL of the database, or the path of a SQLite file.
    :param tables: The names of the tables to serve. All by default.
    :raises ValueError: There is no table that can be served, or one refers to a table
        that is not there.
    """
    engine, metadata = _engine(url, writes=writes), sa.MetaData()

    try:
        metadata.reflect(engine, only=lambda name, _: not tables or name in tables)
    except sa.exc.NoSuchTableError as error:
        raise ValueError(
            f"A foreign key refers to the table '{error}', which is not there. Name the"
            " tables without such keys: --tables a,b."
        ) from error

    names = {*tables} or {*metadata.tables, *sa.inspect(engine).get_view_names()}
    keyed = {n for n, each in metadata.tables.items() if each.primary_key.columns}
    models = {metadata.tables[n]: type(n, (), {}) for n in sorted(names & keyed)}
    left_out = [f"'{n}' is not a table with a primary key." for n in names - keyed]
    left_out += _as_text(engine, models) if engine.dialect.name == "sqlite" else []
    _map(models)
    app, records = Flask(__name__, static_folder=None), FlaskRecords()
    app.config["RECORDS_EXPLORER"] = {"enabled": True}
    database = unquote(engine.url.database or "").removeprefix("file:")
    # A table may have the name "docs".
    app.config["RECORDS_OPENAPI"] = {
        "enabled": True,
        "title": database.rpartition("/")[2] or "Database",
        "page": "/_records/docs",
        "document": "/_records/openapi.json",
    }
    app.add_url_rule("/", "start", lambda: redirect(url_for("records_explorer.page")))

    for table, model in models.items():
        mapper: orm.Mapper[t.Any] = orm.class_mapper(model)
        columns = mapper.columns.items()
        keys = {name for name, column in columns if column.primary_key}
        hidden = {
            name
            for name, column in columns
            if (name[0] == "_" and name not in keys)
            or conversion_of(column.type, engine.dialect) is None
        }
        fields = [name for name, _ in columns if name not in hidden]
        service = SQLAlchemyService(
            model,
            session=orm.sessionmaker(engine),
            paginate={"default": 20, "max": 500},
            whitelist=WHITELIST,
            multi=["create"],
            hidden=hidden,
            # Nobody can hide what a warning calls secret: there is no code.
            visible={name: True for name in fields if name not in keys},
            relations=mapper.relationships.keys(),
            aggregates=fields,
        )

        try:
            service.check(app)
            records.add(
                re.sub(r"[^\w.-]", "-", table.fullname),
                service,
                public=True,
                methods=METHODS if writes else READS,
                # Pages of other sites can send forms.
                body_parsers={"application/json": parse_json},
            )
        except (TypeError, ValueError) as error:
            left_out.append(f"'{table.fullname}': {error}")
        else:
            left_out += [
                f"'{table.fullname}.{n}' has no form on the wire." for n in hidden
            ]

    if not records.services:
        raise ValueError(" ".join(left_out) or "There are no tables.")

    realtime = Realtime(records)
    records.publish()(lambda event, record, context: ["anonymous"])

    for extension in (records, realtime, Explorer(records)):
        extension.init_app(app)

    # Workers have connections of their own.
    engine.dispose()
    return app, realtime, sorted(left_out)


def _engine(url: str, *, writes: bool) -> sa.Engine:
    """Return the engine of a database. A file of SQLite has to be there."""
    is_url = "://" in url
    parsed = sa.make_url(url) if is_url else sa.URL.create("sqlite", database=url)

    if parsed.get_backend_name() != "sqlite":
        return sa.create_engine(parsed)

    query = {**parsed.query, "mode": "rw" if writes else "ro", "uri": "true"}
    file = f"file:{quote(parsed.database or '')}"
    engine = sa.create_engine(parsed.set(database=file, query=query))

    @sa.event.listens_for(engine, "connect")
    def check_foreign_keys(connection: t.Any, record: t.Any) -> None:
        connection.execute("PRAGMA foreign_keys = ON")

    return engine


def _as_text(engine: sa.Engine, tables: Iterable[sa.Table]) -> Iterator[str]:
    """Let columns of SQLite be text that hold values of other types, and yield a
    sentence for each. The first values of a column are looked at.
    """
    with engine.connect() as connection:
        for column in [column for table in tables for column in table.columns]:
            conversion = conversion_of(column.type, engine.dialect)

            if conversion is None:
                continue

            values = sa.select(conversion.select_as(column.key, column)).limit(VALUES)

            try:
                connection.execute(values).all()
            except (ArithmeticError, TypeError, ValueError):
                yield f"The type of '{column}', as it has other values: it is text."
                column.type = sa.Text()


def _map(models: dict[sa.Table, type[t.Any]]) -> None:
    """Map classes to tables, with relationships at both ends of each foreign key, which
    are named by its columns and by the other table.
    """
    related: dict[sa.Table, dict[str, t.Any]] = {table: {} for table in models}
    keys = [key for table in models for key in table.foreign_key_constraints]
    keys = [key for key in keys if key.referred_table in models]

    # Names do not depend on the order in which the database lists them.
    for key in sorted(keys, key=lambda key: [*key.column_keys]):
        own, other = key.table, key.referred_table
        columns, others = [*key.columns], [each.column for each in key.elements]
        stem = re.sub(r"_?id$", "", "_".join(key.column_keys), flags=re.IGNORECASE)

        for source, target, names, remote in (
            (own, other, (stem, f"{stem}_{other.name}"), others),
            (other, own, (own.name, f"{own.name}_{stem}"), columns),
        ):
            members = {"", *source.columns.keys(), *related[source]}
            safe = [re.sub(r"[.\[\]$]", "_", each) for each in names]
            name = next((each for each in safe if each not in members), None)

            if name is not None:
                related[source][name] = orm.relationship(
                    models[target],
                    primaryjoin=sa.and_(*map(operator.eq, columns, others)),
                    foreign_keys=columns,
                    remote_side=remote,
                    viewonly=True,
                )

    for table, model in models.items():
        # Paths have dots, and special parameters begin with '$'.
        fields = {re.sub(r"[.\[\]]|^\$", "_", each.key): each for each in table.columns}
        properties = {**fields, **related[table]}
        orm.registry().map_imperatively(model, table, properties=properties)
