"""The client of an application as a package of npm."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import typing as t
import zlib
from dataclasses import dataclass

from flask import current_app

from .typescript import client_declarations
from .typescript import methods_by_path
from .typescript_client import common_module
from .typescript_client import module

if t.TYPE_CHECKING:
    from collections.abc import Mapping

NAME = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")

VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")

LONGEST_NAME: t.Final = 214
"""The number of characters that npm allows."""

FIRST_VERSION: t.Final = "0.0.0"

FOLDER: t.Final = "package/"
"""The folder of an archive that npm installs."""

ENTRY: t.Final = {
    "import": {"types": "./lib/client.d.ts", "default": "./lib/client.js"},
    "require": {"types": "./lib/client.d.cts", "default": "./lib/client.cjs"},
}
"""The files of the client, for modules and for ``require``."""

TIME: t.Final = 499162500
"""The time that npm gives the files of its archives."""

README: t.Final = """\
# {name}

{description}

```ts
import rest from '@feathersjs/rest-client'
import {{ createClient }} from '{name}'

const client = createClient(rest('https://api.example.com').fetch(fetch))
```
"""


UNREADABLE: t.Final = (
    *(tarfile.TarError, zlib.error, OSError, EOFError),
    *(LookupError, TypeError, ValueError),
)
"""The errors of an archive that is not a package."""


@dataclass(frozen=True)
class PackageId:
    """The name of a package, with its version."""

    name: str
    version: str = FIRST_VERSION

    @classmethod
    def parse(cls, text: str) -> t.Self:
        """Return the name and version of a text such as ``@acme/chat@1.2.0``.

        :raises ValueError: npm does not allow such a name or version.
        """
        # The name may begin with that of a scope.
        name, _, version = text[1:].partition("@")
        name = text[:1] + name

        if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            raise ValueError(
                f"'{name}' is not the name of a package: use lower-case letters, digits"
                " and hyphens, such as 'chat-client' or '@acme/chat-client'."
            )

        if version and not VERSION.fullmatch(version):
            raise ValueError(f"'{version}' is not a version such as '1.2.0'.")

        return cls(name, version or FIRST_VERSION)

    @classmethod
    def of_archive(cls, content: bytes) -> t.Self:
        """Return the name and version of a package.

        :raises ValueError: The archive is not a package.
        """
        try:
            with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
                file = tar.extractfile(f"{FOLDER}package.json")
                manifest = json.load(file) if file else {}
                return cls.parse(f"{manifest['name']}@{manifest['version']}")
        except UNREADABLE as error:
            raise ValueError("It is not a package of npm.") from error

    @property
    def file_name(self) -> str:
        """The name of the file that ``npm pack`` would write."""
        flat = self.name.removeprefix("@").replace("/", "-")
        return f"{flat}-{self.version}.tgz"


def npm_package(id: PackageId) -> bytes:
    """Return the package of the client of the current application, for ``npm install``.
    The same services make the same bytes.
    """
    written = io.BytesIO()

    # The header of the archive would have the time and the name of a file.
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=written, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, text in _files(id).items():
            content = text.encode()
            member = tarfile.TarInfo(f"{FOLDER}{name}")
            member.size = len(content)
            member.mtime = TIME
            tar.addfile(member, io.BytesIO(content))

    return written.getvalue()


def _files(id: PackageId) -> Mapping[str, str]:
    """Return the files of a package by name."""
    description = f"The client of {current_app.name}, with the types of its services."
    manifest = {
        "name": id.name,
        "version": id.version,
        "description": description,
        "type": "module",
        "main": "./lib/client.cjs",
        "module": "./lib/client.js",
        "types": "./lib/client.d.ts",
        "exports": {
            ".": ENTRY,
            "./lib/client": ENTRY,
            "./package.json": "./package.json",
        },
        "sideEffects": False,
        "dependencies": {"@feathersjs/authentication-client": "^5.0.0"},
        "peerDependencies": {"@feathersjs/feathers": "^5.0.0"},
    }
    methods = methods_by_path()
    types = client_declarations()
    return {
        "package.json": json.dumps(manifest, indent=2) + "\n",
        "README.md": README.format(name=id.name, description=description),
        "lib/client.js": module(methods),
        "lib/client.cjs": common_module(methods),
        "lib/client.d.ts": types,
        "lib/client.d.cts": types,
    }
