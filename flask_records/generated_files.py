"""Commands whose output is a file that is kept beside other code."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from difflib import unified_diff
from functools import wraps
from itertools import islice
from pathlib import Path

import click

if t.TYPE_CHECKING:
    from collections.abc import Callable

MAX_LINES: t.Final = 20
"""The number of lines of a difference that are shown."""

CURE: t.Final = "Make it again: run this command with --output in place of --check."

FILE: t.Final = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class Destination:
    """The place of a command's output: a file, or the terminal by default."""

    output: Path | None = None
    """The file to write."""

    check: Path | None = None
    """The file to compare with the output, in place of writing it."""

    def receive(self, content: str) -> None:
        """Print or write an output, or compare a file with it.

        :param content: The output.
        :raises click.ClickException: The file is stale, or can't be read or written.
        """
        if self.check is not None:
            _compare(self.check, content)
            return

        if self.output is None:
            click.echo(content, nl=False)
            return

        try:
            self.output.write_bytes(content.encode())
        except OSError as error:
            raise click.FileError(str(self.output), error.strerror) from error

        click.echo(f"{self.output} is written.", err=True)


def with_destination(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options ``--output`` and ``--check`` to a command, which gets them as its
    argument ``destination``.
    """

    @click.option("--output", type=FILE, help="Write to this file.")
    @click.option(
        "--check", type=FILE, help="Fail if this file is not what would be written."
    )
    @wraps(command)
    def wrapper(
        *arguments: t.Any, output: Path | None, check: Path | None, **options: t.Any
    ) -> None:
        if output is not None and check is not None:
            raise click.UsageError("Use either --output or --check.")

        command(*arguments, destination=Destination(output, check), **options)

    return wrapper


def _compare(path: Path, content: str) -> None:
    """Compare a file with an output.

    :raises click.ClickException: They differ, or the file can't be read.
    """
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        raise click.ClickException(f"{path} does not exist. {CURE}") from None
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error

    # Git may have changed the ends of lines.
    before, after = stored.decode(errors="replace").splitlines(), content.splitlines()
    differences = list(unified_diff(before, after, "stored", "made", n=1, lineterm=""))

    if differences:
        click.echo("\n".join(islice(differences, MAX_LINES)), err=True)
        raise click.ClickException(f"{path} is stale. {CURE}")

    click.echo(f"{path} is up to date.")
