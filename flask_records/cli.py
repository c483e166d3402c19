"""The commands of ``flask records``, and the services in ``flask shell``."""

from __future__ import annotations

import builtins
import json
import keyword
import typing as t
from functools import partial

import click
from flask import current_app
from flask.cli import AppGroup

from .globals import current_records
from .http.origins import origin_of

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from flask import Flask

    from .service import Service

group = AppGroup("records", help="Commands of Flask-Records.")
"""The commands. Each is added here."""

NO_PROVIDERS = "No OAuth provider is configured."

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


def checked_url(
    context: click.Context, option: click.Parameter, value: str | None
) -> str | None:
    """Return the address of an application.

    :raises click.BadParameter: It is not a web address.
    """
    if value is not None and origin_of(value) is None:
        raise click.BadParameter("It must begin with https:// or http://.")

    return value


@group.command("oauth")
@click.option(
    "--base-url",
    metavar="URL",
    callback=checked_url,
    help="The address of your application, if it is not in the settings.",
)
def check_oauth(base_url: str | None) -> None:
    """Test the OAuth providers, and print the callback addresses to register."""
    providers = [
        (provider, authentication.settings.oauth.base_url)
        for authentication in current_records.authentications.values()
        for provider in authentication.settings.oauth.providers.values()
    ]

    if not providers:
        click.echo(NO_PROVIDERS)
        return

    # They are loaded for the providers alone.
    from .authentication.oauth_client import problem_of

    has_problem = False

    for provider, own_url in providers:
        address = callback_address(provider.name, base_url or own_url)
        click.echo(f"{provider.name}\n  register {address}")

        problem = problem_of(provider)
        has_problem = has_problem or problem is not None
        click.echo(f"  {problem or 'responds'}")

    if has_problem:
        raise SystemExit(1)


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


def callback_address(provider: str, base_url: str | None) -> str:
    """Return the address that a provider sends users back to.

    :param base_url: The address of the application, if it is known.
    """
    rules = current_app.url_map.iter_rules()
    endpoint = next(
        rule.endpoint
        for rule in rules
        if rule.endpoint.endswith("records_oauth.callback")
    )

    with current_app.test_request_context(base_url=base_url):
        is_known = base_url or current_app.config["SERVER_NAME"]
        address = current_app.url_for(endpoint, provider=provider, _external=True)
        path = current_app.url_for(endpoint, provider=provider, _external=False)

    return address if is_known else f"<the address of your application>{path}"
