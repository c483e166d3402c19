"""The commands of ``python -m flask_records``, which need no application."""

from __future__ import annotations

import typing as t
from pathlib import Path
from urllib.parse import urlencode

import click
from sqlalchemy.exc import SQLAlchemyError

from .start.project import DATABASES, write_project

NO_PACKAGE = """\
Install 'flask-record-services[asgi]' and the driver of the database, such as \
'psycopg[binary]' or 'pymysql'.\
"""

QUESTIONS: t.Final[dict[str, tuple[str, t.Any, t.Any]]] = {
    "database": ("Database", "sqlite", click.Choice([*DATABASES])),
    "realtime": ("Events for browsers, in real time", True, bool),
    "accounts": ("Mails about addresses and forgotten passwords", True, bool),
}
"""The question, the default, and the type of each option."""


@click.group()
def main() -> None:
    """Begin with Flask-Records."""


@main.command()
@click.argument("url")
@click.option("--write", is_flag=True, help="Let clients write. They read by default.")
@click.option(
    "--tables", default="", help="The tables to serve, as 'a,b'. All by default."
)
@click.option("--token", envvar="RECORDS_TOKEN", help="A token that callers need.")
@click.option("--port", default=8000, show_default=True)
def serve(url: str, write: bool, tables: str, token: str | None, port: int) -> None:
    """Serve the tables of a database on this machine, with the explorer.

    URL is one of SQLAlchemy, such as postgresql+psycopg://ann@127.0.0.1/shop, or the
    path of a SQLite file.
    """
    try:
        from .start.local_server import LocalServer
        from .start.reflection import create_app

        names = [name.strip() for name in tables.split(",") if name.strip()]
        app, realtime, left_out = create_app(url, tables=names, writes=write)
    except ImportError as error:
        raise click.ClickException(f"{error}. {NO_PACKAGE}") from error
    except (RuntimeError, SQLAlchemyError, ValueError) as error:
        raise click.ClickException(str(getattr(error, "orig", error))) from error

    for sentence in left_out:
        click.echo(f"Left out: {sentence}", err=True)

    end = f"?{urlencode({'token': token})}" if token else ""
    click.echo(f"Explorer, calls and documents at http://127.0.0.1:{port}/{end}")
    LocalServer(realtime.asgi(app), port, token).run()


@main.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Ask nothing: take the defaults.")
@click.option("--database", type=click.Choice([*DATABASES]))
@click.option("--realtime/--no-realtime", default=None, help="Events for browsers.")
@click.option("--accounts/--no-accounts", default=None, help="Mails about accounts.")
@click.option("--from", "url", help="A database to write the models of.")
def new(name: str, yes: bool, url: str | None, **options: t.Any) -> None:
    """Write a new application into a folder NAME, and ask what it is to have."""
    for option, (question, default, type_) in QUESTIONS.items():
        # The URL names the kind of its database.
        is_known = yes or (url is not None and option == "database")

        if options[option] is None:
            answer = (
                default if is_known else click.prompt(question, default, type=type_)
            )
            options[option] = answer

    try:
        write_project(Path(), name, url=url, **options)
    except (SQLAlchemyError, ValueError) as error:
        raise click.ClickException(str(error)) from error

    click.echo(f"The application is in {name}. Its README.md has the commands.")


if __name__ == "__main__":
    main()
