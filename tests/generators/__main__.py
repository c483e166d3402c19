"""Makes clients of the documents of two applications, compiles them, and calls servers.

Run ``python -m tests.generators PYTHON``, with the Python that has the packages of
``requirements.txt``, and the packages of ``package.json`` in ``node_modules`` beside
this file. It ends with an error if a generator, a linter or a compiler complains, or if
a client gets other answers than it should.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..processes import environment, ROOT, started

HERE = Path(__file__).parent
NODE_MODULES = HERE / "node_modules"
APPLICATIONS = {"example": "wsgi", "everything": "tests.everything_app"}

GENERATORS = {
    "hey-api": "node {node}/@hey-api/openapi-ts/bin/run.js -i {document}"
    " -o generated/hey-api -c @hey-api/client-fetch",
    "openapi-typescript": "node {node}/openapi-typescript/bin/cli.js {document}"
    " -o generated/openapi-typescript/schema.ts",
    "orval": "node {node}/orval/dist/bin/orval.mjs --input {document}"
    " --output generated/orval/api.ts --client fetch",
    "typescript-fetch": "{bin}/openapi-generator-cli generate -i {document}"
    " -g typescript-fetch -o generated/typescript-fetch",
    "python_openapi_generator": "{bin}/openapi-generator-cli generate"
    " -i {document} -g python -o .",
    "python_openapi_python_client": "{bin}/openapi-python-client generate"
    " --path {document} --meta none --output-path records_client --fail-on-warning",
}
"""The command of each generator, by the name of the file with the calls."""

LINTERS = {
    "redocly": "node {node}/@redocly/cli/bin/cli.js lint {document}",
    "spectral": "node {node}/@stoplight/spectral-cli/dist/index.js lint {document}"
    " --ruleset spectral.json --fail-severity error",
}
"""The command of each linter, with its recommended rules."""

GIVEN = {
    "example": {
        "total": 2,
        "sorted": ["c"],
        "selected": ["id", "text"],
        "second": ["b"],
        "patched": "d",
        "removed": True,
        "error": "NotFound",
    },
    "everything": {"room": True, "size": 3, "number": 2, "taken": "BadRequest"},
}
"""The results of the calls of each client."""

OPTIONS = {
    "strict": True,
    "target": "es2022",
    "module": "commonjs",
    "moduleResolution": "node10",
    "lib": ["es2022", "dom", "dom.iterable"],
    "types": ["node"],
    "rootDir": ".",
    "outDir": "js",
}
"""The options of the compiler of TypeScript."""


IMPORT = """\
import importlib, openapi_client, pkgutil, records_client

for package in (openapi_client, records_client):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
"""


def main(python):
    """Try all generators on both documents, two at a time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        trials = [Trial(name, python, Path(folder, name)) for name in APPLICATIONS]
        commands = [*GENERATORS.values(), *LINTERS.values()]
        jobs = [(trial, command) for trial in trials for command in commands]
        wait(pool.map(Trial.prepare, trials))
        wait(pool.map(Trial.run, *zip(*jobs, strict=True)))
        wait(pool.map(Trial.compile, trials))
        return [each for each in pool.map(Trial.call, trials) if each]


def wait(results):
    """Wait for jobs, and raise the error of one."""
    for _ in results:
        pass


def run(folder, *command, **environment):
    """Run a command, and return what it has printed."""
    done = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        check=False,
        cwd=folder,
        env={**os.environ, **environment},
        text=True,
    )

    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")

    return done.stdout


@dataclass
class Trial:
    """The clients of one application.

    :param name: The name of the application.
    :param python: The Python with the generators.
    :param folder: A new folder for the clients.
    """

    name: str
    python: str
    folder: Path

    def prepare(self):
        """Lay the calls beside the document."""
        shutil.copytree(HERE / "clients", self.folder)
        (self.folder / "node_modules").symlink_to(NODE_MODULES)
        (self.folder / "spectral.json").write_text('{"extends": ["spectral:oas"]}')
        flask = [sys.executable, "-m", "flask", "--app", APPLICATIONS[self.name]]
        variables = environment("sqlite://", self.folder)
        document = run(ROOT, *flask, "records", "openapi", **variables)
        (self.folder / "openapi.json").write_text(document)

    def run(self, command):
        """Run a generator, or a linter."""
        places = {"bin": Path(self.python).parent, "node": NODE_MODULES}
        run(self.folder, *command.format(**places, document="openapi.json").split())

    def compile(self):
        """Compile the clients and their calls: those of TypeScript with their types,
        and those of Python by the import of all modules.
        """
        # The calls of the other application do not fit.
        for each in self.folder.glob("*.ts"):
            if ".everything" in each.suffixes and self.name != "everything":
                each.unlink()

        settings = {"compilerOptions": OPTIONS, "include": ["*.ts", "generated"]}
        (self.folder / "tsconfig.json").write_text(json.dumps(settings))
        run(self.folder, "node", NODE_MODULES / "typescript/bin/tsc")
        run(self.folder, self.python, "-c", IMPORT)

    def call(self):
        """Run the calls of all clients, and return those with other answers."""
        database = f"sqlite:///{self.folder}/test.db"
        variables = environment(database, self.folder)
        server = ["--workers", "1", "--threads", "4", f"{APPLICATIONS[self.name]}:app"]
        wrong = []

        with started(server, variables) as server:
            for name in GENERATORS:
                given = json.loads(self._call(name, f"http://{server.host}"))
                print(f"{self.name} {name} {given}")

                if given != GIVEN[self.name]:
                    wrong.append((self.name, name, given))

        return wrong

    def _call(self, generator, base):
        email = f"{generator}@example.com"

        if generator.startswith("python"):
            arguments = self.python, f"{generator}.py", base, email, self.name
        else:
            end = "" if self.name == "example" else f".{self.name}"
            arguments = "node", f"js/{generator}{end}.js", base, email

        return run(self.folder, *arguments)


if __name__ == "__main__":
    sys.exit("\n".join(map(str, main(*sys.argv[1:]))) or None)
