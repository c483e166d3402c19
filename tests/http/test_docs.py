"""The examples of the documentation run, and every public name is documented."""

from __future__ import annotations

import ast
import contextvars
import doctest
import inspect
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tomllib
import types
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import granian.cli
import pytest
import sqlalchemy as sa
import uvicorn
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from gunicorn.config import Config
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

import flask_records.__main__
import flask_records.cli
from flask_records import (
    accounts,
    AuthenticationService,
    explorer,
    FlaskRecords,
    realtime,
    SQLAlchemyService,
)

from ..databases import DATABASES, leave
from ..listening import running
from ..processes import ROOT, started

DOCS = ROOT / "docs"
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = sorted(DOCS.glob("*.md"))
API = DOCS / "api.md"
APP = compile((DOCS / "app.py").read_text(), "app.py", "exec")

LONGEST_PAGE = 299
LONGEST_FIRST_BLOCK = 25
FIRST_SCREEN = 20

FENCE = re.compile(r"^```(\S*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
COMMAND = re.compile(r"([^\n]*\n(?:> [^\n]*\n)*)(.*)", re.DOTALL)
SERVER = re.compile(r"http://127\.0\.0\.1:\d+")
ASSIGNMENT = re.compile(r"(\w+)=\$\((.+)\)", re.DOTALL)

COMMAND_LINE = re.compile(
    r"(gunicorn|uvicorn|granian|-m flask_records|flask records) (-[^`|>&\n]+|[a-z-]+)"
)
PACKAGE = re.compile(r"(?:flask-record-services|'\.)\[([a-z,]+)\]")

VARYING = {
    "TIME": re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"),
    "TOKEN": re.compile(r"eyJ[\w.-]+"),
    "SECONDS": re.compile(r'(?<="iat":|"exp":)\d+'),
    "ID": re.compile(r'(?<="jti":")[^"]+'),
}
"""The parts of answers that differ from run to run, by their placeholders."""


@dataclass(frozen=True)
class Block:
    """A fenced code block of a page."""

    page: Path
    line: int
    language: str
    mark: str
    text: str

    @property
    def place(self):
        return f"{self.page.name}:{self.line}"


def blocks_of(page):
    """Return the code blocks of a page, in order."""
    text = page.read_text()
    return [
        Block(page, text.count("\n", 0, match.start(3)), *match.groups())
        for match in FENCE.finditer(text)
    ]


def run_page(page, module):
    """Run the examples of a page in order, in one module, after ``docs/app.py``."""
    exec(APP, module.__dict__)

    for block in blocks_of(page):
        if block.mark != "no-run":
            RUN.get(block.language, leave_alone)(block, module)


def leave_alone(block, module):
    """Shell commands, JSON and settings are shown only."""


def run_python(block, module):
    # The empty lines make the numbers in a traceback those of the page.
    source = "\n" * block.line + block.text
    exec(compile(source, str(block.page), "exec"), module.__dict__)


def run_session(block, module):
    """Run a session of Python's prompt, and compare what it shows."""
    parser, report = doctest.DocTestParser(), []
    session = parser.get_doctest(block.text, {}, block.place, None, block.line)
    session.globs = module.__dict__
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(session, out=report.append, clear_globs=False)

    assert not runner.failures, "".join(report)


def run_commands(block, module):
    with running(module.app) as url:
        check_commands(block, url, module.shell_variables)


def check_commands(block, url, variables):
    """Run the commands of a console block against a server, and compare the answers."""
    for command, answer in commands_of(block):
        assignment = ASSIGNMENT.fullmatch(command)

        if assignment:
            name, command = assignment.groups()
            variables[name] = answer_of(command, url, variables)
        else:
            shown = answer_of(command, url, variables)
            assert comparable(shown) == comparable(answer), command


def commands_of(block):
    """Yield each command of a console block with the answer shown below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        # The shell asks for the rest of a command with a prompt of its own.
        command, answer = COMMAND.fullmatch(part).groups()
        yield command.replace("\n> ", "\n").strip(), answer.strip()


def answer_of(command, url, variables):
    """Return what a command shows whose server is at the URL."""
    assert command.startswith(("curl ", "printf ")), command
    done = subprocess.run(
        SERVER.sub(url, command),
        shell=True,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.strip()


def comparable(text):
    for name, pattern in VARYING.items():
        text = pattern.sub(name, text)

    return text


RUN = {"python": run_python, "pycon": run_session, "console": run_commands}
"""The functions that run the blocks of each language."""


def exports_of(page):
    """Return the variables that the shell commands of a page export, by their names."""
    lines = [
        line
        for block in blocks_of(page)
        for line in block.text.splitlines()
        if block.language == "sh" and line.startswith("export ")
    ]
    script = "\n".join([*lines, "env -0"])
    done = subprocess.run(
        ["bash", "-ec", script], env={"PATH": os.environ["PATH"]}, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    pairs = [each.split("=", 1) for each in done.stdout.decode().split("\0") if each]
    own = {"PATH", "PWD", "SHLVL", "_", "OLDPWD"}
    return {name: value for name, value in pairs if name not in own}


@contextmanager
def serving_the_example(folder):
    """The URL of gunicorn, which serves the example with a new database."""
    own = {
        "DATABASE_URL": f"sqlite:///{folder / 'records.db'}",
        "SECRET_KEY": secrets.token_hex(32),
        "WEB_CONCURRENCY": "1",
    }

    with started(["-c", "instance/gunicorn.conf.py"], os.environ | own) as server:
        yield f"http://{server.host}"


@pytest.fixture
def module(monkeypatch, tmp_path):
    """An empty module ``app`` in an empty folder, which the examples of a page fill."""
    module = types.ModuleType("app")
    module.shell_variables = {}
    monkeypatch.setitem(sys.modules, "app", module)
    monkeypatch.chdir(tmp_path)

    with disposed_engines():
        yield module


@contextmanager
def disposed_engines():
    """Give back the connections of all engines that are used meanwhile."""
    engines = {}

    def remember(connection):
        engines[id(connection.engine)] = connection.engine

    sa.event.listen(sa.Engine, "engine_connect", remember)

    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "engine_connect", remember)
        # SQLAlchemy takes a class for listened to for ever: other tests look at that.
        sa.Engine._has_events = False

        for engine in engines.values():
            engine.dispose()


@pytest.fixture
def readers_module(module, monkeypatch):
    """A module of an application that has the models that the README leaves to it."""
    models = types.ModuleType("app.models")

    class Base(DeclarativeBase):
        pass

    for name in ("User", "Message", "Book"):
        columns = {
            column: mapped_column(sa.String) for column in ("text", "email", "password")
        }
        model = {
            "__tablename__": name.lower(),
            "__annotations__": {"id": Mapped[int]},
            "id": mapped_column(primary_key=True),
        }
        setattr(models, name, type(name, (Base,), model | columns))

    models.db = module.db = SQLAlchemy(model_class=Base)
    module.Book = models.Book
    module.__package__ = "app"
    module.__path__ = []
    monkeypatch.setitem(sys.modules, "app.models", models)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_run_and_answer_what_it_shows(page, module):
    # A context of its own, so that what a page pushes is gone with it.
    contextvars.copy_context().run(run_page, page, module)


@pytest.mark.parametrize("database", [each for each in DATABASES if each != "sqlite"])
def test_help_desk_runs_on_servers(module, monkeypatch, server_urls, database):
    page, context = DOCS / "help-desk.md", contextvars.copy_context()
    monkeypatch.setenv("DATABASE_URL", server_urls[database])

    try:
        context.run(run_page, page, module)
    finally:
        # What the page has in progress would keep its tables.
        context.run(leave, module.db)


def test_first_application_of_the_readme_answers_what_it_shows(module, monkeypatch):
    monkeypatch.setenv("FLASK_DEBUG", "1")
    blocks = {block.language: block for block in reversed(blocks_of(README))}

    run_python(blocks["python"], module)
    run_commands(blocks["console"], module)

    client = module.app.test_client()
    pages = [client.get(path).status_code for path in ("/_records/", "/docs")]
    assert pages == [200, 200]


def test_python_of_the_readme_runs(readers_module):
    blocks = [block for block in blocks_of(README) if block.language == "python"]

    for block in blocks[1:]:
        if block.mark != "no-run":
            run_python(block, readers_module)


def test_commands_of_the_readme_answer_what_it_shows(tmp_path):
    blocks = [block for block in blocks_of(README) if block.language == "console"]
    commands, variables = blocks[1:], {}

    with serving_the_example(tmp_path) as url:
        for block in commands:
            check_commands(block, url, variables)


@pytest.mark.parametrize("page", [*PAGES, README], ids=lambda page: page.name)
def test_python_that_is_not_run_is_python(page):
    for block in blocks_of(page):
        if block.language == "python" and block.mark:
            assert block.mark == "no-run", block.place
            ast.parse(block.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_is_short_and_begins_with_a_sentence_and_code(page):
    text = page.read_text()
    lead, first = text.split("\n\n")[1], next(iter(blocks_of(page)), None)

    assert text.count("\n") <= LONGEST_PAGE

    if page.name != "changes.md":
        assert not lead.startswith(("```", "#")) and lead.endswith((".", ":"))
        assert first.line < FIRST_SCREEN
        assert first.text.count("\n") <= LONGEST_FIRST_BLOCK


@pytest.mark.parametrize(
    "page", [*PAGES, README, CONTRIBUTING], ids=lambda page: page.name
)
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text())
    links = [link for link in LINK.findall(text) if "://" not in link]

    assert [link for link in links if not leads_somewhere(page, link)] == []


def leads_somewhere(page, link):
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page

    if not target.is_file():
        return False

    headings = HEADING.findall(FENCE.sub("", target.read_text()))
    return not anchor or anchor in map(anchor_of, headings)


def anchor_of(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_architecture_names_modules_that_are_there():
    text = (DOCS / "architecture.md").read_text()
    package = Path(flask_records.__file__).parent

    names = re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", text)

    assert [name for name in names if not (package / f"{name}.py").is_file()] == []


def test_index_lists_every_page():
    blocks = blocks_of(DOCS / "index.md")
    trees = [block.text for block in blocks if block.language == "{toctree}"]
    names = [line for tree in trees for line in tree.splitlines() if line]
    listed = [f"{name}.md" for name in names if not name.startswith(":")]

    assert sorted([*listed, "index.md"]) == [page.name for page in PAGES]


def test_index_names_what_is_required_and_every_extra():
    text = (DOCS / "index.md").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = dict(each.split(">=") for each in project["dependencies"])
    internal = {"dev", "docs", "example", "test"}
    extras = project["optional-dependencies"].keys() - internal

    assert (
        f"Python {project['requires-python'].removeprefix('>=')} or later,"
        f" Flask {needed['flask']} or later,"
        f" SQLAlchemy {needed['sqlalchemy']} or later."
    ) in text
    assert [name for name in extras if f"\n| `{name}` |" not in text] == []


def parameters_of(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]


@pytest.mark.parametrize(
    ("function", "page"),
    [
        (FlaskRecords, "configuration.md"),
        (FlaskRecords.add, "services.md"),
        (SQLAlchemyService, "services.md"),
        (AuthenticationService, "authentication.md"),
    ],
)
def test_every_argument_has_a_place_on_its_page(function, page):
    text = (DOCS / page).read_text()

    missing = [name for name in parameters_of(function) if f"`{name}`" not in text]

    assert missing == []


@pytest.mark.parametrize("page", [*PAGES, README], ids=lambda page: page.name)
def test_exported_variables_are_settings_that_something_reads(page, monkeypatch):
    exported = exports_of(page)
    documented = (DOCS / "configuration.md").read_text()
    settings = {*Flask("tests").config, "SQLALCHEMY_DATABASE_URI"}
    settings |= {*re.findall(r"^\| `([A-Z_]+)` \|", documented, re.MULTILINE)}

    for name, value in exported.items():
        monkeypatch.setenv(name, value)

    app = Flask("tests")
    app.config.from_prefixed_env()

    names = [name.removeprefix("FLASK_").partition("__")[0] for name in exported]
    assert [name for name in exported if not name.startswith("FLASK_")] == []
    assert [name for name in names if name not in settings] == []
    assert all(app.config[name] for name in names)


PARSERS = {
    "gunicorn": lambda words: Config().parser().parse_args(words),
    "uvicorn": lambda words: uvicorn.main.make_context("uvicorn", words),
    "granian": lambda words: granian.cli.cli.make_context("granian", words),
    "-m flask_records": lambda words: flask_records.__main__.main.commands[words[0]],
    "flask records": lambda words: flask_records.cli.group.commands[words[0]],
}
"""The functions that refuse a command line which is not valid, by programs."""


@pytest.mark.parametrize("page", [*PAGES, README], ids=lambda page: page.name)
def test_commands_have_options_and_extras_that_are_there(page):
    text = page.read_text() if page.name != "changes.md" else ""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    for name, line in COMMAND_LINE.findall(text):
        PARSERS[name](shlex.split(line, comments=True))

    extras = {*",".join(PACKAGE.findall(text)).split(",")} - {""}
    assert extras <= project["optional-dependencies"].keys()


CHECKS = {
    "sh": "bash -n {}",
    "js": "node --check {}",
    "ini": "systemd-analyze verify {}",
    "nginx": "nginx -t -q -c {}",
    "haproxy": "haproxy -c -q -f {}",
}
"""The commands that complain about a file that is not valid, by languages of blocks."""


@pytest.mark.parametrize("language", CHECKS)
def test_snippets_for_other_programs_are_valid(language, tmp_path, monkeypatch):
    command, *arguments = CHECKS[language].split()
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin")
    blocks = [
        each for each in chain(*map(blocks_of, PAGES)) if each.language == language
    ]
    file = tmp_path / {"js": "file.mjs", "ini": "file.service"}.get(language, "file")
    assert blocks

    if not shutil.which(command):
        pytest.skip(f"{command} is not installed.")

    for block in blocks:
        file.write_text(on_this_machine(block, tmp_path))
        line = [command, *(each.format(file) for each in arguments)]
        done = subprocess.run(line, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), block.place


def on_this_machine(block, folder):
    """Return the text of a block without the files that only a deployment has."""
    text = re.sub(r"/srv/\S+/gunicorn", "/bin/true", block.text)

    if block.language == "nginx":
        text = re.sub(r" +ssl_certificate.*\n", "", text).replace("443 ssl", "8443")
        own = f"error_log stderr; pid {folder}/pid; events {{}}"
        return f"{own} http {{ access_log off; {text} }}"

    return text


def test_every_variable_of_the_environment_is_documented():
    text = (DOCS / "example.md").read_text()
    files = "".join(path.read_text() for path in (ROOT / "instance").glob("*.py"))

    names = re.findall(r'environ(?:\.get\(|\[)"(\w+)"', files)

    assert [name for name in names if f"`{name}`" not in text] == []


def test_every_public_name_is_documented():
    described = re.findall(
        r"^\.\. (?:auto|py:)\w+:: (\w+)$", API.read_text(), re.MULTILINE
    )
    features = (flask_records, accounts, explorer, realtime)

    assert sorted(described) == sorted(chain(*[each.__all__ for each in features]))
