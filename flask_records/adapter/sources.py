"""Sources of database sessions."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from contextlib import suppress

import sqlalchemy as sa
from flask import current_app
from sqlalchemy import orm

SessionSource: t.TypeAlias = Callable[[], orm.Session] | orm.sessionmaker[orm.Session]

LIBRARIES: t.Final = ("sqlalchemy.orm.session", "flask_sqlalchemy.session")
"""The modules whose sessions know their engine without any state of a request."""

NO_EXTENSION = """\
This app has neither Flask-SQLAlchemy nor Flask-SQLAlchemy-Lite. Give the service a \
'session': a sessionmaker, a scoped_session, or a function that returns a session.\
"""


def session_of_app() -> orm.Session:
    """Return the session that Flask-SQLAlchemy or Flask-SQLAlchemy-Lite has for the
    current application.

    :raises RuntimeError: The application has neither.
    """
    session = source_of_app()
    return session if isinstance(session, orm.Session) else session()


def source_of_app() -> t.Any:
    """Return the session of the current application, or a function that returns it.

    :raises RuntimeError: The application has none.
    """
    extension = current_app.extensions.get("sqlalchemy")

    if extension is None:
        raise RuntimeError(NO_EXTENSION)

    return extension.session


def known_bind(source: SessionSource, mapper: orm.Mapper[t.Any]) -> t.Any:
    """Return the engine of the database of the current application, or the connection
    that stands for it, or ``None`` if only a call can tell.
    """
    if source is session_of_app and "sqlalchemy" not in current_app.extensions:
        return None

    factory = source_of_app() if source is session_of_app else source
    factory = getattr(factory, "session_factory", factory)

    if isinstance(factory, orm.sessionmaker):
        methods = (factory.class_.__init__, factory.class_.get_bind)

        if all(method.__module__ in LIBRARIES for method in methods):
            factory = factory()

    if not isinstance(factory, orm.Session):
        return None

    with suppress(sa.exc.UnboundExecutionError):
        return factory.get_bind(mapper)

    return None
