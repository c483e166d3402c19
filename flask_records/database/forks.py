"""Processes that are forked from one with connections to databases."""

from __future__ import annotations

import os
import sys
import typing as t
from weakref import WeakSet

from sqlalchemy.pool import QueuePool

if t.TYPE_CHECKING:
    import sqlalchemy as sa
    from flask import Flask

UWSGI: t.Final = """\
uWSGI forks its workers from this process without a word to Python: they would share \
its connections to databases, and get each other's rows. Let each worker load the \
application: lazy-apps = true.\
"""

_engines: WeakSet[sa.Engine] = WeakSet()
"""The engines of all applications."""

_pools: list[sa.Pool] = []
"""The pools of parents. Some drivers would end a connection that nobody refers to."""


def init_app(app: Flask) -> None:
    """Let a process that is forked from this one open connections of its own: two on
    one connection get each other's rows.

    :raises RuntimeError: uWSGI is to fork this process, which nobody would notice.
    """
    uwsgi: t.Any = sys.modules.get("uwsgi")

    if uwsgi is not None and uwsgi.numproc > 1 and uwsgi.worker_id() == 0:
        # Mules and spoolers have been forked already.
        if uwsgi.masterpid() in (0, os.getpid()):
            raise RuntimeError(UWSGI)

    with app.app_context():
        engines = getattr(app.extensions.get("sqlalchemy"), "engines", {})
        _engines.update(engines.values())


def _open_anew() -> None:
    for engine in _engines:
        # A database in memory is in its connection.
        if isinstance(engine.pool, QueuePool):
            _pools.append(engine.pool)
            engine.dispose(close=False)


os.register_at_fork(after_in_child=_open_anew)
