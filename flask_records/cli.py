"""The commands of ``flask records``."""

from __future__ import annotations

import json
import typing as t

import click
from flask import current_app
from flask.cli import AppGroup

from .generated_files import with_destination
from .globals import current_records
from .http.origins import origin_of

if t.TYPE_CHECKING:
    from .generated_files import Destination

group = AppGroup("records", help="Commands of Flask-Records.")
"""The commands. Each is added here."""

NO_PROVIDERS = "No OAuth provider is configured."


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
    from .authentication.oauth_check import check_provider

    has_problem = False

    for provider, own_url in providers:
        address = callback_address(provider.name, base_url or own_url)
        click.echo(f"{provider.name}\n  register {address}")

        for check in check_provider(provider):
            has_problem = has_problem or check.problem is not None
            text = "ok" if check.problem is None else check.problem
            click.echo(f"  {check.name} {check.url}: {text}")

    if has_problem:
        raise SystemExit(1)


@group.command("openapi")
@with_destination
def print_openapi(destination: Destination) -> None:
    """Print the OpenAPI document of all services, as anonymous clients may see it."""
    # It is loaded for this command alone.
    from .openapi import document

    made = json.dumps(document(), indent=2, ensure_ascii=False)
    destination.receive(f"{made}\n")


@group.command("types")
@click.option(
    "--client/--no-client",
    "has_client",
    default=True,
    help="Add createClient, the client of FeathersJS with these types.",
)
@with_destination
def print_types(destination: Destination, has_client: bool) -> None:
    """Print the types of all services, for clients in TypeScript."""
    # It is loaded for this command alone.
    from .openapi.typescript import typescript

    destination.receive(typescript(has_client=has_client))


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
