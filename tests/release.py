"""Builds the sdist, and of it the wheel, and runs the quickstart from the wheel in an
empty environment of each Python: ``python -m tests.release FOLDER PYTHON...``
"""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from .http.test_docs import blocks_of, check_commands, DOCS
from .processes import ROOT
from .waiting import START, wait_until

PAGE = DOCS / "quickstart.md"
NAME = "flask-record-services"
URL = re.compile(r"http://127\S+")


def main(folder, *pythons):
    tools = made(folder / "tools", sys.executable, "build", "flit_core")
    run(tools / "python", "-m", "build", "--no-isolation", "-o", folder / "dist", ROOT)
    [wheel] = (folder / "dist").glob("*.whl")

    for number, python in enumerate(pythons):
        check_quickstart(folder / str(number), python, wheel)
        print(f"The quickstart runs from {wheel.name} with {python}.")


def made(folder, python, *packages):
    """Make an environment with packages, and return the folder of its commands."""
    run(python, "-m", "venv", folder)
    run(folder / "bin" / "pip", "install", "--quiet", *packages)
    return folder / "bin"


def run(*command):
    subprocess.run([*map(str, command)], check=True, stdout=subprocess.DEVNULL)


def check_quickstart(folder, python, wheel):
    """Install what the page installs, write its ``app.py``, and run its commands."""
    blocks = blocks_of(PAGE)
    install = next(block.text for block in blocks if block.language == "sh")
    packages = [wheel if each == NAME else each for each in install.split()[2:]]
    commands = made(folder / "venv", python, *packages)
    app = folder / "app.py"
    variables = {}

    for block in blocks:
        if block.language == "python":
            app.write_text((app.read_text() if app.exists() else "") + block.text)
        elif block.language == "console":
            with served(commands / "flask", folder) as url:
                check_commands(block, url, variables)


@contextmanager
def served(flask, folder):
    """The URL of ``flask run`` in a folder."""
    log = folder / "log"

    with log.open("w") as lines:
        process = subprocess.Popen(
            [flask, "run", "--port", "0"], cwd=folder, stdout=lines, stderr=lines
        )

    try:
        wait_until(lambda: URL.search(log.read_text()), START)
        yield URL.search(log.read_text())[0]
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
