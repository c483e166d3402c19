"""Commands whose output is a file that is kept beside other code."""

from __future__ import annotations

import io
import tarfile
import typing as t
import zlib
from dataclasses import dataclass
from difflib import unified_diff
from functools import wraps
from itertools import islice
from pathlib import Path

import click

if t.TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

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

    @property
    def file(self) -> Path | None:
        """The file that is written or compared."""
        return self.output or self.check

    def receive(self, content: str | bytes, name: str | None = None) -> None:
        """Print or write an output, or compare a file with it.

        :param content: A text, or an archive: the bytes of a ``.tgz``.
        :param name: The file to write if none is named. The output is printed by
            default.
        :raises click.ClickException: The file is stale, or can't be read or written.
        """
        if self.check is not None:
            _compare(self.check, content)
            return

        path = self.output or (Path(name) if name else None)

        if path is None:
            click.echo(content, nl=False)
            return

        try:
            path.write_bytes(_encoded(content))
        except OSError as error:
            raise click.FileError(str(path), error.strerror) from error

        click.echo(f"{path} is written.", err=True)


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


def _encoded(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _compare(path: Path, content: str | bytes) -> None:
    """Compare a file with an output.

    :raises click.ClickException: They differ, or the file can't be read.
    """
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        raise click.ClickException(f"{path} does not exist. {CURE}") from None
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from error

    differences = _differences(stored, content)

    if differences:
        click.echo("\n".join(islice(differences, MAX_LINES)), err=True)
        raise click.ClickException(f"{path} is stale. {CURE}")

    click.echo(f"{path} is up to date.")


def _differences(stored: bytes, content: str | bytes) -> list[str]:
    """Return the lines that differ."""
    if isinstance(content, str):
        return _changed_lines("", stored, content.encode())

    old, new = _members(stored), _members(content)
    return [
        line
        for name in sorted({*old, *new})
        for line in _changed_lines(name, old.get(name, b""), new.get(name, b""))
    ] or ([] if old.keys() == new.keys() else ["Its files have other names."])


def _changed_lines(name: str, old: bytes, new: bytes) -> list[str]:
    # Git may have changed the ends of lines.
    before, after = [each.decode(errors="replace").splitlines() for each in (old, new)]
    names = f"stored {name}", f"made {name}"
    return list(unified_diff(before, after, *names, n=1, lineterm=""))


def _members(archive: bytes) -> Mapping[str, bytes]:
    """Return the files of an archive by name. Compression differs between systems, so
    that only these are compared. None if it can't be read.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            files = {each.name: tar.extractfile(each) for each in tar}
            return {name: file.read() for name, file in files.items() if file}
    except (tarfile.TarError, zlib.error, EOFError, OSError):
        return {}
