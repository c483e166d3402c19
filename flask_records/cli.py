"""The commands of ``flask records``."""

from __future__ import annotations

import json
import typing as t

import click
from flask.cli import AppGroup

from .globals import current_records

if t.TYPE_CHECKING:
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
    # It is loaded for this command alone.
    from .openapi import document

    click.echo(json.dumps(document(), indent=2, ensure_ascii=False))


@group.command("types")
def print_types() -> None:
    """Print the types of all services, and a client in TypeScript with them."""
    # It is loaded for this command alone.
    from .openapi.typescript import typescript

    click.echo(typescript(), nl=False)
