"""Serves the mapped classes of public applications within them, and runs tests of their
own before and after.

Run ``python -m tests.hosts``, or with the names of some. Each is installed in a Python
environment of its own. It ends with an error if a class is not served, a service does
not answer, or a test passes without services only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@dataclass(frozen=True)
class Host:
    """A public application."""

    requirements: str
    tests: str
    factory: str
    """The function that makes an application, or gets one."""

    base: str
    """The class that its models extend."""

    session: str | None = None
    """The source of its sessions, if it has no Flask-SQLAlchemy."""

    source: str | None = None
    """The source distribution that has its tests, if its package has none."""


HOSTS = {
    "ihatemoney": Host(
        "ihatemoney==7.2.1 pytest",
        "--pyargs ihatemoney.tests.api_test",
        factory="ihatemoney.run:create_app",
        base="ihatemoney.models:db.Model",
    ),
    "monitoringdashboard": Host(
        "flask-monitoringdashboard==5.1.0 pytest<8.4 pytest-factoryboy",
        "tests/api",
        factory="flask_monitoringdashboard:bind",
        base="flask_monitoringdashboard.database:Base",
        session="flask_monitoringdashboard.database:DBSession",
        source="flask-monitoringdashboard==5.1.0",
    ),
}
"""The applications, by name."""


def main(names):
    """Try applications, and print a table."""
    failed = False

    for name in names or HOSTS:
        with tempfile.TemporaryDirectory() as folder:
            failed = is_disturbed(name, HOSTS[name], Path(folder)) or failed

    return failed


def is_disturbed(name, host, folder):
    """Print what an application does with services. Return ``True`` for faults."""
    python, work = installed(host, folder)
    before = outcomes(python, work, host, served=False)
    after = outcomes(python, work, host, served=True)
    lost = sorted({*before["passed"]} - {*after["passed"]})
    answers = after["statuses"]
    wrong = {path: status for path, status in answers.items() if status != 200}
    tests = [
        f"{len(r['passed'])} passed, {len(r['failed'])} failed" for r in (before, after)
    ]
    named = f"{len(answers)} classes, {len(after['refused'])} with another id"
    print(f"{name} | {named} | before: {tests[0]} | after: {tests[1]}")

    for fault in (*lost, *wrong.items()):
        print("  !", fault)

    return bool(lost or wrong or not answers)


def installed(host, folder):
    """The Python of a new environment that has a host, and the folder of its tests."""
    venv.create(folder / "python", with_pip=True)
    python = folder / "python" / "bin" / "python"
    pip = [python, "-m", "pip"]
    requirements = host.requirements.split()
    subprocess.run([*pip, "install", "-q", "-e", ROOT, *requirements], check=True)

    if host.source is None:
        return python, folder

    download = [*pip, "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*download, host.source], check=True, cwd=folder)
    archive = next(folder.glob("*.tar.gz"))

    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")

    return python, folder / archive.name.removesuffix(".tar.gz")


def outcomes(python, folder, host, *, served):
    """The outcomes of the tests of a host, as the plugin writes them down."""
    report = folder / "report.json"
    names = json.dumps(asdict(host)) if served else "null"
    settings = {"SERVED": names, "REPORT": str(report), "PYTHONPATH": str(HERE)}
    command = [python, "-m", "pytest", "-q", "-p", "plugin", "--tb=short"]
    run = subprocess.run(
        [*command, *host.tests.split()],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
    )

    if not report.exists():
        raise RuntimeError(run.stdout + run.stderr)

    return json.loads(report.read_text())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
