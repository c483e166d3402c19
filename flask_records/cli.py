"""The commands of ``flask records``, and the services in ``flask shell``."""

from __future__ import annotations

import builtins
import json
import keyword
import typing as t
from functools import partial

import click
from flask.cli import AppGroup

from .globals import current_records

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask

    from .service import Service

group = AppGroup("records", help="Commands of Flask-Records.")
"""The commands. Each is added here."""

RESERVED_NAMES: t.Final = frozenset({*keyword.kwlist, *dir(builtins), "app", "g"})
"""The names of ``flask shell`` that are no services."""


def init_app(app: Flask, services: Mapping[str, Service]) -> None:
    """Add the commands to an application, and the services to its shell."""
    # The application may have commands of this name.
    if group.name not in app.cli.commands:
        app.cli.add_command(group)

    # What the application has there replaces a service of the same name.
    app.shell_context_processors.insert(0, partial(_shell_context, services))


def _shell_context(services: Mapping[str, Service]) -> dict[str, t.Any]:
    """Return the extension and services by name. A service is left out if its path is
    no name, or means something else.
    """
    named = {
        path: service
        for path, service in services.items()
        if path.isidentifier() and path not in RESERVED_NAMES
    }
    return {"current_records": current_records, **named}


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
