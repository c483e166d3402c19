"""The commands of ``flask records``."""

from __future__ import annotations

import json
import typing as t

import click
from flask.cli import AppGroup

from .authentication.records import current_records
from .errors import RecordsError
from .readiness import failures

if t.TYPE_CHECKING:
    from collections.abc import Sequence

    from flask import Flask

group = AppGroup("records", help="Commands of Flask-Records.")
"""The commands. Each is added here."""


def init_app(app: Flask) -> None:
    """Add the commands to an application, and the extension to its shell."""
    # The application may have commands of this name.
    if group.name not in app.cli.commands:
        app.cli.add_command(group)

    app.shell_context_processor(lambda: {"current_records": current_records})


@group.command("openapi")
def print_openapi() -> None:
    """Print the OpenAPI document of all services, as anonymous clients may see it."""
    # This command alone needs documents.
    from .openapi import document

    click.echo(json.dumps(document(), indent=2, ensure_ascii=False))


@group.command("types")
def print_types() -> None:
    """Print the types of all services, and a client in TypeScript with them."""
    # This command alone needs documents.
    from .openapi.typescript import typescript

    click.echo(typescript(), nl=False)


@group.command("check")
def check() -> None:
    """Check the databases and the message queue, before a deploy. The settings and
    rules are checked by the start of the application.
    """
    errors = failures()

    for error in errors.values():
        click.echo(str(error), err=True)

    if errors:
        raise click.exceptions.Exit(1)

    click.echo("All is well.")


@group.command("create-user")
@click.argument("values", nargs=-1, metavar="FIELD=VALUE ...")
def create_user(values: Sequence[str]) -> None:
    """Create a user, with any field of users, also with those that clients can't
    write. The hooks of users run.
    """
    data: dict[str, str] = {}

    for each in values:
        name, is_pair, value = each.partition("=")

        if not is_pair:
            raise click.UsageError(f"'{each}' is not such as email=ann@example.com.")

        data[name] = value

    try:
        authentication = current_records.authentication()
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error

    if authentication.password not in data:
        data[authentication.password] = click.prompt("Password", hide_input=True)

    try:
        user = authentication.users.create(data)
    except RecordsError as error:
        problems = [f"{name} {text}" for name, text in dict(error.errors).items()]
        raise click.ClickException(", ".join(problems) or str(error)) from error

    click.echo(f"Created the user {user[authentication.id]}.")
