"""The package of a client for npm. A test of tests/clients installs one."""

from __future__ import annotations

import io
import json
import tarfile
import time

import pytest
from flask import Flask

from flask_records import FlaskRecords
from flask_records.openapi.npm_package import PackageId


class Bell:
    def find(self, params):
        return []

    def create(self, data, params):
        return data


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments, methods=("find",)):
        app = Flask("bells")
        records = FlaskRecords()
        records.add("bells", Bell(), methods=methods, public=True)
        records.init_app(app)
        return app.test_cli_runner().invoke(args=["records", "types", *arguments])

    return run


def files_of(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {each.name: tar.extractfile(each).read().decode() for each in tar}


def test_package_has_the_name_of_npm_pack(run, tmp_path):
    run("--package", "@acme/bells@1.2.0-rc.1")

    assert [each.name for each in tmp_path.iterdir()] == ["acme-bells-1.2.0-rc.1.tgz"]


def test_package_has_modules_and_types(run, tmp_path):
    run("--package", "bells")

    files = files_of((tmp_path / "bells-0.0.0.tgz").read_bytes())
    manifest = json.loads(files["package/package.json"])
    types = files["package/lib/client.d.ts"]
    assert (manifest["name"], manifest["version"]) == ("bells", "0.0.0")
    assert manifest["peerDependencies"] == {"@feathersjs/feathers": "^5.0.0"}
    assert types == files["package/lib/client.d.cts"]
    assert 'export declare const serviceMethods: {\n  readonly "bells": ' in types
    assert 'import { feathers } from "' not in types
    named = {f"package/{each}" for each in paths_of(manifest["exports"])}
    assert named < files.keys()


def paths_of(exports):
    """Yield the files that a package exports."""
    for each in exports.values():
        if isinstance(each, str):
            yield each.removeprefix("./")
        else:
            yield from paths_of(each)


def test_same_services_make_the_same_bytes(run, tmp_path, monkeypatch):
    run("--package", "bells@1.0.0", "--output", "a.tgz")
    later = time.time() + 1000
    monkeypatch.setattr(time, "time", lambda: later)

    run("--package", "bells@1.0.0", "--output", "b.tgz")

    assert (tmp_path / "a.tgz").read_bytes() == (tmp_path / "b.tgz").read_bytes()


def test_a_fresh_package_is_up_to_date(run):
    run("--package", "bells@1.2.0")

    result = run("--check", "bells-1.2.0.tgz")

    assert result.output == "bells-1.2.0.tgz is up to date.\n"
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "methods", "line"),
    [
        ([], ("find", "create"), '+  "bells": ["find", "create"]'),
        (["--package", "bells@1.3.0"], ("find",), '+  "version": "1.3.0",'),
    ],
)
def test_a_stale_package_fails(run, arguments, methods, line):
    run("--package", "bells@1.2.0")

    result = run("--check", "bells-1.2.0.tgz", *arguments, methods=methods)

    assert line in result.stderr.splitlines()
    assert "Error: bells-1.2.0.tgz is stale. " in result.stderr
    assert result.exit_code == 1


def test_a_package_is_made_again_with_its_name(run, tmp_path):
    run("--package", "bells@1.2.0", "--output", "client.tgz")

    run("--output", "client.tgz", methods=["find", "create"])

    manifest = json.loads(
        files_of((tmp_path / "client.tgz").read_bytes())["package/package.json"]
    )
    assert manifest["version"] == "1.2.0"


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x1f\x8b\x08nonsense"])
def test_a_file_that_is_no_package_is_told(run, tmp_path, content):
    (tmp_path / "bells.tgz").write_bytes(content)

    result = run("--check", "bells.tgz")
    named = run("--check", "bells.tgz", "--package", "bells")

    assert result.stderr == "Error: It is not a package of npm.\n"
    assert "Error: bells.tgz is stale. " in named.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--package", "Bells"], "'Bells' is not the name of a package"),
        (["--package", "../bells"], "'../bells' is not the name of a package"),
        (["--package", "a/../b"], "'a/../b' is not the name of a package"),
        (["--package", ""], "'' is not the name of a package"),
        (["--package", "b" * 215], "is not the name of a package"),
        (["--package", "bells@latest"], "'latest' is not a version such as '1.2.0'."),
        (["--package", "bells@1.0.0/../../x"], "'1.0.0/../../x' is not a version"),
        (["--package", "bells", "--no-client"], "A package has a client."),
        (["--output", "bells.tgz"], "Name the package: --package NAME@VERSION."),
        (["--check", "bells.tgz"], "Name the package: --package NAME@VERSION."),
    ],
)
def test_an_option_that_makes_no_package_is_refused(run, tmp_path, arguments, error):
    result = run(*arguments)

    assert error in result.stderr
    assert result.exit_code != 0
    assert not [*tmp_path.iterdir()]


def test_names_have_a_scope_and_a_version():
    assert PackageId.parse("@acme/bells@1.2.0") == PackageId("@acme/bells", "1.2.0")
    assert PackageId.parse("@acme/bells") == PackageId("@acme/bells", "0.0.0")
    assert PackageId.parse("bells@1.2.0") == PackageId("bells", "1.2.0")
