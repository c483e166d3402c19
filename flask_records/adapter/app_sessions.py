"""The sessions of an application, which join each outermost transaction."""

from __future__ import annotations

import typing as t

from flask import current_app, has_app_context
from sqlalchemy import orm

from ..transaction import on_begin
from .joined_session import join
from .work import count_writes

if t.TYPE_CHECKING:
    from flask import Flask

    from ..transaction import Transaction

EXTENSION: t.Final = "records_sessions"
"""The key of the sessions that services of an application have been given."""


def init_app(app: Flask) -> None:
    """Let the sessions of an application join the transactions in it, and notice from
    now on what they write.

    :param app: The application.
    """
    app.extensions.setdefault(EXTENSION, {})
    count_writes()


def add_session(app: Flask, source: t.Any) -> None:
    """Add the session of a service, if it can join without being made.

    :param app: The application.
    :param source: The source of the service's sessions.
    """
    if isinstance(source, orm.scoped_session):
        app.extensions.setdefault(EXTENSION, {})[source] = None


def _join_sessions(transaction: Transaction) -> None:
    if not has_app_context():
        return

    extensions = current_app.extensions

    session = getattr(extensions.get("sqlalchemy"), "session", None)

    # Another extension may have this name.
    if isinstance(session, (orm.Session, orm.scoped_session)):
        join(session)

    for source in extensions.get(EXTENSION, ()):
        join(source)


on_begin(_join_sessions)
