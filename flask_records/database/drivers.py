"""The drivers of databases whose statements and errors Flask-Records knows."""

from __future__ import annotations

import typing as t

from ..settings import names_of

if t.TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import sqlalchemy as sa

SETTING: t.Final = "RECORDS_DRIVERS"

MYSQL: t.Final = ("pymysql", "mysqldb")

DRIVERS: t.Final[Mapping[str, Collection[str]]] = {
    "sqlite": ("pysqlite",),
    "postgresql": ("psycopg", "psycopg2"),
    "mysql": MYSQL,
    "mariadb": MYSQL,
}
"""The drivers by the names of dialects."""

UNKNOWN: t.Final = """\
Flask-Records does not know the driver '{name}': a write may fail, or be answered with \
the status of another error. Use {known}. If you have tried what you need, say so: \
{setting} = ['{name}'].\
"""


def check_driver(dialect: sa.Dialect, config: Mapping[str, t.Any]) -> None:
    """Refuse a driver that is not known, unless the application names it.

    :param config: The configuration of the application.
    :raises RuntimeError: The driver is not known.
    """
    name, drivers = f"{dialect.name}+{dialect.driver}", DRIVERS.get(dialect.name, ())

    if dialect.driver in drivers or name in names_of(SETTING, config.get(SETTING, ())):
        return

    known = [f"{each}+{driver}" for each in DRIVERS for driver in DRIVERS[each]]
    own = [each for each in known if each.startswith(f"{dialect.name}+")] or known
    text = UNKNOWN.format(name=name, known=" or ".join(own), setting=SETTING)
    raise RuntimeError(text)
