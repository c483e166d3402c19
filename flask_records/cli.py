"""The commands of ``flask records``."""

from __future__ import annotations

import json
import typing as t
from difflib import unified_diff
from functools import wraps
from itertools import islice
from pathlib import Path

import click
from flask import current_app
from flask.cli import AppGroup

from .globals import current_records
from .http.origins import origin_of

if t.TYPE_CHECKING:
    from collections.abc import Callable

group = AppGroup("records", help="Commands of Flask-Records.")
"""The commands. Each is added here."""

NO_PROVIDERS = "No OAuth provider is configured."

MAX_LINES: t.Final = 20
"""The number of lines of a difference that are shown."""

CURE: t.Final = "Make it again: run this command with --output in place of --check."

FILE: t.Final = click.Path(dir_okay=False, path_type=Path)


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
    from .authentication.oauth_client import check_provider

    has_problem = False

    for provider, own_url in providers:
        address = callback_address(provider.name, base_url or own_url)
        click.echo(f"{provider.name}\n  register {address}")

        for name, url, problem in check_provider(provider):
            has_problem = has_problem or problem is not None
            click.echo(f"  {name} {url}: {problem or 'ok'}")

    if has_problem:
        raise SystemExit(1)


def kept_in_file(make: Callable[..., str]) -> Callable[..., None]:
    """Return a command that prints a text, writes it to a file with ``--output``, or
    compares a file with it with ``--check``.

    :param make: Returns the text.
    """

    @click.option("--output", type=FILE, help="Write to this file.")
    @click.option(
        "--check", type=FILE, help="Fail if this file is not what would be written."
    )
    @wraps(make)
    def command(output: Path | None, check: Path | None, **options: t.Any) -> None:
        if output is not None and check is not None:
            raise click.UsageError("Use either --output or --check.")

        text = make(**options)

        if check is not None:
            compare(check, text)
        elif output is not None:
            write(output, text)
        else:
            click.echo(text, nl=False)

    return command


@group.command("openapi")
@kept_in_file
def print_openapi() -> str:
    """Print the OpenAPI document of all services, as anonymous clients may see it."""
    # It is loaded for this command alone.
    from .openapi import document

    return f"{json.dumps(document(), indent=2, ensure_ascii=False)}\n"


@group.command("types")
@click.option(
    "--client/--no-client",
    "has_client",
    default=True,
    help="Add createClient, the client of FeathersJS with these types.",
)
@kept_in_file
def print_types(has_client: bool) -> str:
    """Print the types of all services, for clients in TypeScript."""
    # It is loaded for this command alone.
    from .openapi.typescript import typescript

    return typescript(has_client=has_client)


def write(path: Path, text: str) -> None:
    """Write a file.

    :raises click.ClickException: It can't be written.
    """
    try:
        path.write_bytes(text.encode())
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error

    click.echo(f"{path} is written.", err=True)


def compare(path: Path, text: str) -> None:
    """Compare a file with a text.

    :raises click.ClickException: They differ, or the file can't be read.
    """
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        raise click.ClickException(f"{path} does not exist. {CURE}") from None
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error

    # Git may have changed the ends of lines.
    before, after = stored.decode(errors="replace").splitlines(), text.splitlines()
    differences = list(unified_diff(before, after, "stored", "made", n=1, lineterm=""))

    if differences:
        click.echo("\n".join(islice(differences, MAX_LINES)), err=True)
        raise click.ClickException(f"{path} is stale. {CURE}")

    click.echo(f"{path} is up to date.")


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
