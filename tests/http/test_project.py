"""Applications that `python -m flask_records new` writes."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from flask_records.__main__ import main
from flask_records.start.project import write_project

from ..foreign_databases import fill, shop_of_records
from ..processes import ROOT


def run(folder, *command):
    """The output of a module of Python, which has to succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_of(folder):
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in paths)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database", "realtime", "accounts"),
    [
        ("sqlite", True, True),
        ("mariadb", False, False),
        ("an existing one", False, True),
        ("an existing one", True, False),
    ],
)
def test_applications_of_all_choices_pass_tests_and_checks(
    tmp_path, tmp_path_factory, realtime, accounts, database
):
    pytest.importorskip("mypy")
    pytest.importorskip("sqlacodegen")
    file = str(tmp_path / "records.db")
    fill(f"sqlite:///{file}", shop_of_records)
    options = {"url": file} if " " in database else {"database": database}
    folder = tmp_path / "my_shop"

    # The application that has made the database has migrations of its own.
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "CREATE TABLE alembic_version (version_num TEXT PRIMARY KEY)"
        )
        connection.execute("INSERT INTO alembic_version VALUES ('4d26575c')")

    write_project(tmp_path, "my_shop", realtime=realtime, accounts=accounts, **options)

    run(folder, "ruff", "check")
    run(folder, "ruff", "format", "--check")
    # Types of other packages take most of the time.
    cache = tmp_path_factory.getbasetemp() / "mypy"
    run(folder, "mypy", "--cache-dir", str(cache))
    assert " passed" in run(folder, "pytest")

    if " " in database:
        run(folder, "flask", "--app", "wsgi", "db", "upgrade")


def test_an_application_is_short(tmp_path):
    write_project(tmp_path, "shop")
    folder = tmp_path / "shop"
    python = [*(folder / "shop").glob("*.py"), folder / "wsgi.py"]

    assert sum(len(path.read_text().splitlines()) for path in python) <= 200


def test_choices_leave_files_out(tmp_path):
    write_project(tmp_path, "full")
    write_project(tmp_path, "bare", realtime=False, accounts=False)
    texts = [
        (tmp_path / "bare" / each).read_text() for each in files_of(tmp_path / "bare")
    ]

    full = {name.replace("full", "bare") for name in files_of(tmp_path / "full")}
    assert full - {*files_of(tmp_path / "bare")} == {"bare/mails.py"}
    assert not any("redis" in text or "realtime" in text for text in texts)
    assert not any(
        word in text for text in texts for word in ("{%", "{{ name", "jinja")
    )


@pytest.mark.parametrize("file", ["Dockerfile", "compose.yaml"])
def test_gunicorn_takes_the_place_of_the_shell_in_a_container(tmp_path, file):
    """A shell would not pass on the signal by which the container stops."""
    write_project(tmp_path, "shop")

    text = (tmp_path / "shop" / file).read_text()
    assert text.count("exec gunicorn") == text.count("gunicorn") == 1


def test_secrets_are_new_and_outside_of_version_control(tmp_path):
    write_project(tmp_path, "one")
    write_project(tmp_path, "two")
    secrets = [
        line
        for name in ("one", "two")
        for file in (".env", "instance/config.py")
        for line in (tmp_path / name / file).read_text().splitlines()
        if line.startswith(("SECRET_KEY", "DATABASE_PASSWORD"))
    ]

    assert len({*secrets}) == len(secrets) == 6
    ignored = (tmp_path / "one" / ".gitignore").read_text().splitlines()
    assert {".env", "instance/"} <= {*ignored}
    modes = [
        (tmp_path / "one" / name).stat() for name in (".env", "instance/config.py")
    ]
    assert [stat.S_IMODE(each.st_mode) for each in modes] == [0o600, 0o600]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Shop",
        "1shop",
        "a b",
        "../shop",
        "class",
        "json",
        "flask_shop",
        "tests",
        "there",
    ],
)
def test_names_that_are_no_new_package_are_refused(tmp_path, name):
    (tmp_path / "there").mkdir()

    with pytest.raises(ValueError, match="can't be the name of a package"):
        write_project(tmp_path, name)

    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_a_database_that_cannot_be_read_writes_nothing(tmp_path):
    pytest.importorskip("sqlacodegen")

    with pytest.raises(ValueError, match="nothing"):
        write_project(tmp_path, "shop", url="nothing://")

    assert [*tmp_path.iterdir()] == []


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """A function that runs `new` with answers to its questions."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, input="": CliRunner().invoke(
        main, ["new", *arguments], input
    )


def test_questions_have_defaults(invoke):
    asked = invoke("asked", input="\n\n\n")
    taken = invoke("taken", "--yes")

    assert (asked.exit_code, taken.exit_code) == (0, 0)
    assert asked.output.count("[") == 3
    assert "[" not in taken.output
    names = {name.replace("asked", "taken") for name in files_of(Path("asked"))}
    assert names == {*files_of(Path("taken"))}


def test_answers_and_options_choose(invoke):
    invoke("asked", "--no-accounts", input="mariadb\nno\n")

    assert "pymysql" in Path("asked/requirements.txt").read_text()
    assert "[asgi" not in Path("asked/requirements.txt").read_text()
    assert not Path("asked/asked/mails.py").exists()


def test_a_refused_name_is_an_error_of_the_command(invoke):
    done = invoke("class", "--yes")

    assert done.exit_code == 1
    assert done.output.startswith("Error: 'class' can't be the name of a package")
