"""Sources of the application's sessions, which join the transactions of calls."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from flask import current_app, has_app_context
from sqlalchemy import orm

from .joined_session import JoinedSession
from .transaction import on_begin, Transaction

if t.TYPE_CHECKING:
    from flask import Flask

SessionSource: t.TypeAlias = Callable[[], orm.Session] | orm.sessionmaker[orm.Session]

EXTENSION: t.Final = "records_sessions"
"""The key of the sessions that services of an application have been given."""

NO_EXTENSION = """\
This app has neither Flask-SQLAlchemy nor Flask-SQLAlchemy-Lite. Give the service a \
'session': a sessionmaker, a scoped_session, or a function that returns a session.\
"""


def add_session(app: Flask, source: t.Any) -> None:
    """Add the session of a service, if it can join without being made.

    :param app: The application.
    :param source: The source of the service's sessions.
    """
    if isinstance(source, orm.scoped_session):
        app.extensions.setdefault(EXTENSION, {})[source] = None


def session_of_app() -> orm.Session:
    """Return the session that Flask-SQLAlchemy or Flask-SQLAlchemy-Lite has for the
    current application, which may be a ``scoped_session``.

    :raises RuntimeError: The application has neither.
    """
    extension = current_app.extensions.get("sqlalchemy")

    if extension is None:
        raise RuntimeError(NO_EXTENSION)

    session: orm.Session = extension.session
    return session


def join(source: t.Any) -> JoinedSession:
    """Return a session that has joined the transaction in progress. It joins now, if it
    has not.

    :param source: A session, a ``scoped_session``, which makes it when somebody uses
        it, a ``sessionmaker``, whose session is used for the transaction alone, or a
        function that returns a session of the application.
    """
    transaction = Transaction.current()

    if source is session_of_app:
        source = session_of_app()

    if not isinstance(source, (orm.scoped_session, orm.sessionmaker)):
        source = source if isinstance(source, orm.Session) else source()

        # The session may have joined through its scoped_session.
        for joined in transaction.sessions:
            if joined.is_of(source):
                return joined

    return transaction.join(source, lambda: JoinedSession(source))


def _join_sessions(transaction: Transaction) -> None:
    if not has_app_context():
        return

    extensions = current_app.extensions
    session = getattr(extensions.get("sqlalchemy"), "session", None)

    # Another extension may have this name.
    if isinstance(session, (orm.scoped_session, orm.Session)):
        join(session)

    for source in extensions.get(EXTENSION, ()):
        join(source)


on_begin(_join_sessions)
