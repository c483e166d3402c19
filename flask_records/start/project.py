"""A new application, written into a folder."""

from __future__ import annotations

import keyword
import re
import secrets
import subprocess
import sys
import typing as t
from pathlib import Path

import sqlalchemy as sa
from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES: t.Final = Path(__file__).parent / "templates"
"""The files of an application. Those without text are left out."""

DATABASES: t.Final = {
    "sqlite": "sqlite:///{}.db",
    "postgresql": "postgresql+psycopg://{0}@127.0.0.1/{0}",
    "mariadb": "mariadb+pymysql://{0}@127.0.0.1/{0}",
}
"""The URLs of new databases."""

MODEL: t.Final = re.compile(
    r"^class (\w+)\(.*\n(?:    .*\n)*?    __tablename__ = ['\"](.+)['\"]$", re.MULTILINE
)
"""A model of sqlacodegen, and its table."""

OWN_TABLES: t.Final = {"user_account", "token"}
"""The tables of users and their tokens."""


def write_project(
    parent: Path,
    name: str,
    *,
    database: str = "sqlite",
    realtime: bool = True,
    accounts: bool = True,
    url: str | None = None,
) -> None:
    """Write the files of a new application into a new folder, and a package, of a name.

    :param database: A key of ``DATABASES``.
    :param url: The URL of an existing database that it serves, or the path of a SQLite
        file.
    :raises ValueError: The name or the database is not fit for it.
    """
    folder = parent / name
    names = {"instance", "migrations", "tests", "wsgi", *sys.stdlib_module_names}
    is_taken = keyword.iskeyword(name) or name in names or name.startswith("flask")

    if is_taken or folder.exists() or not re.fullmatch("[a-z][a-z0-9_]{,29}", name):
        raise ValueError(
            f"'{name}' can't be the name of a package: it is made of lower-case"
            " letters, digits and '_', and Python, the application or the folder has"
            " nothing of this name."
        )

    if url is None:
        url, source = DATABASES[database].format(name), ""
    else:
        url = _absolute(url)
        source = _models(url)
        is_maria = sa.make_url(url).get_backend_name() in ("mysql", "mariadb")
        database = "mariadb" if is_maria else "postgresql"

    values = {
        "name": name,
        "database": database,
        "realtime": realtime,
        "accounts": accounts,
        "url": url,
        "source": source,
        "tables": _tables(source),
        "server": "-k asgi wsgi:asgi" if realtime else "wsgi:app",
        "secret": secrets.token_hex,
    }
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )

    for template in environment.list_templates():
        text = environment.get_template(template).render(values)
        path = folder / template.replace("NAME", name).removesuffix(".jinja")

        if text.strip():
            path.parent.mkdir(parents=True, exist_ok=True)
            is_secret = path.name in (".env", "config.py")
            path.touch(mode=0o600 if is_secret else 0o666)
            path.write_text(text)


def _absolute(url: str) -> str:
    """Return the URL of a database, as it is in every folder."""
    parsed = sa.make_url(url if "://" in url else f"sqlite:///{url}")

    if parsed.get_backend_name() == "sqlite":
        parsed = parsed.set(database=str(Path(parsed.database or "").resolve()))

    return parsed.render_as_string(hide_password=False)


def _models(url: str) -> str:
    """Return the module of the models of a database, as sqlacodegen writes it."""
    command = [sys.executable, "-m", "sqlacodegen", url]
    result = subprocess.run(command, capture_output=True, text=True)

    if result.returncode:
        raise ValueError(
            f"sqlacodegen, which has to be installed: {result.stderr[-300:]}"
        )

    return result.stdout


def _tables(source: str) -> list[dict[str, str]]:
    """Return the model of each table in a module, and the path of its service."""
    tables = {table: model for model, table in MODEL.findall(source)}

    if clashes := OWN_TABLES.intersection(tables):
        raise ValueError(
            f"The database has a table '{min(clashes)}' already, which the application"
            " has for its own logins. Write one without --from, and add your models."
        )

    return [
        {"model": tables[name], "path": re.sub(r"[^\w.-]", "-", name)}
        for name in sorted(tables)
    ]
