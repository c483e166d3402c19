"""Services that write by single statements, and their twins, which never do."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.orm import sessionmaker

from flask_records import FlaskRecords, Params, RecordsError, Service, SQLAlchemyService

from ...databases import empty, enforce_foreign_keys
from ...sql import statements_of
from .models import Base, MODELS, Owner, ROWS

WHITELIST = ["$and", "$nor", "$not", "$null", "$like", "$between", "$populate"]


@dataclass
class Twins:
    """Two services over each model: one whose session nobody listens to, and one that
    is left to the unit of work, since a listener that does nothing is there.
    """

    engine: sa.Engine
    single: dict[str, Service]
    unit_of_work: dict[str, Service]

    def fill(self, path):
        """Store the first rows of a table, and no others."""
        model = self.single[path].target.model
        table = model.__table__

        with orm.Session(self.engine) as session:
            empty(session.connection(), table)

            if rows := ROWS.get(table.name):
                session.execute(sa.insert(model), rows)

            session.commit()

    def stored(self, path):
        """Return all rows as the driver has them, and whether each value is null."""
        table = self.single[path].target.model.__table__
        names = [sa.literal_column(self._quoted(column)) for column in table.columns]
        columns = [each for name in names for each in (name, name.is_(None))]
        statement = sa.select(*columns).select_from(table)

        with self.engine.connect() as connection:
            rows = connection.execute(statement.order_by(*table.primary_key.columns))
            return [tuple(row) for row in rows]

    def _quoted(self, column):
        return self.engine.dialect.identifier_preparer.quote(column.name)

    def outcome(self, services, path, *calls, query=None):
        """Make calls one after the other.

        :return: The answers with their events, the rows that are stored then, and the
            statements that ran.
        """
        self.fill(path)
        service, events = services[path], []

        def remember(event, record, context):
            events.append((event, record))

        with (
            statements_of(self.engine) as statements,
            service.events.connected_to(remember),
        ):
            answers = [answer(service, *call, query=query) for call in calls]

        return (answers, repr(events)), repr(self.stored(path)), statements

    def both(self, path, *calls, query=None):
        """Return the outcomes of both."""
        return [
            self.outcome(services, path, *calls, query=query)
            for services in (self.single, self.unit_of_work)
        ]


def answer(service, method, *args, query=None):
    """Return the answer to a call, where 1, 1.0 and True are not the same."""
    try:
        result = getattr(service, method)(*args, Params(query or {}))
    except RecordsError as error:
        return repr((type(error), str(error), error.errors))

    return repr(result)


def kinds(statements):
    """The first word of each statement that is about records."""
    words = [statement.split()[0] for statement in statements]
    aside = ("BEGIN", "PRAGMA", "SAVEPOINT", "RELEASE", "ROLLBACK")
    return " ".join(word for word in words if word not in aside)


def nothing(*args):
    """Listen without doing anything."""


@contextmanager
def listening(target, name, function=nothing, **options):
    sa.event.listen(target, name, function, **options)

    try:
        yield
    finally:
        sa.event.remove(target, name, function)


def observed(engine):
    """A source of sessions that somebody listens to."""
    make = sessionmaker(engine)
    sa.event.listen(make, "before_flush", nothing)
    return make


def services_of(make):
    records = FlaskRecords()
    options = {"session": make, "multi": True, "whitelist": WHITELIST}
    return {
        path: records.add(path, SQLAlchemyService(model, **options, **more))
        for path, (model, more) in MODELS.items()
    }


@contextmanager
def twins_on(url):
    """Make the tables of all models in a database, and the services."""
    engine = sa.create_engine(url)
    sa.event.listen(engine, "connect", enforce_foreign_keys)
    Base.metadata.create_all(engine)

    with engine.begin() as connection:
        connection.execute(sa.insert(Owner), [{"id": 1}, {"id": 2}])

    make = sessionmaker(engine)
    yield Twins(engine, services_of(make), services_of(observed(engine)))

    Base.metadata.drop_all(engine)
    engine.dispose()
