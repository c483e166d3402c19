"""The commands of ``flask records``."""

from __future__ import annotations

import json
import typing as t

import click
from flask.cli import AppGroup, ScriptInfo

from .authentication.records import current_records
from .authentication.users import fields_of
from .errors import RecordsError
from .readiness import failures

if t.TYPE_CHECKING:
    from collections.abc import Iterator

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


class UserCommand(click.Command):
    """A command whose options are the fields of users."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options of the application and of every command."""
        app = ctx.ensure_object(ScriptInfo).load_app()

        with app.app_context():
            return [*_field_options(), *super().get_params(ctx)]


@group.command("create-user", cls=UserCommand)
def create_user(**values: t.Any) -> None:
    """Create a user, with any field of users, also with those that clients can't
    write. The hooks of users run.
    """
    authentication = current_records.authentication()
    data = {name: value for name, value in values.items() if value is not None}

    try:
        user = authentication.users.create(data)
    except RecordsError as error:
        problems = [f"{name} {text}" for name, text in dict(error.errors).items()]
        raise click.ClickException(", ".join(problems) or str(error)) from error

    click.echo(f"Created the user {user[authentication.id]}.")


def _field_options() -> Iterator[click.Option]:
    """Yield an option for each field of users."""
    try:
        authentication = current_records.authentication()
        users = authentication.users
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error

    fields = fields_of(users)

    if fields is None:
        raise click.ClickException(f"The fields of '{users.path}' are not known.")

    for name, field in fields.writable.items():
        if name in fields.fixed:
            continue

        if name == authentication.password:
            yield click.Option([f"--{name}", name], prompt=True, hide_input=True)
        elif field.conversion.schema.get("type") == "boolean":
            yield click.Option([f"--{name}/--no-{name}", name], default=None)
        else:
            yield click.Option([f"--{name}", name])
