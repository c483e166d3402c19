#!/usr/bin/env bash
# click 8.5.1: an option with `prompt` asks although `default_map` has its value, which is
# only proposed. A variable of the environment answers as before, and so does the map for
# an option without a prompt. With click 8.1.8, the map answered: a command whose answers
# come from a configuration file by `default_map` waits for somebody to type now.
#
# Output seen:
#   click 8.1.8, from the map: 'hello from the map\n'
#   click 8.1.8, from the environment: 'hello from the environment\n'
#   click 8.5.1, from the map: 'Name [from the map]: typed\nhello typed\n'
#   click 8.5.1, from the environment: 'hello from the environment\n'
#
# Exits with an error if the later version takes the value of the map.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/command.py" <<'PYTHON'
from importlib.metadata import version

import click
from click.testing import CliRunner


@click.command()
@click.option("--name", prompt=True, envvar="GREETED")
def hello(name):
    click.echo(f"hello {name}")


def output(**options):
    return CliRunner().invoke(hello, [], input="typed\n", **options).output


now = f"click {version('click')}"
by_map = output(default_map={"name": "from the map"})
by_environment = output(env={"GREETED": "from the environment"})
print(f"{now}, from the map: {by_map!r}")
print(f"{now}, from the environment: {by_environment!r}")
assert ("typed" in by_map) == (version("click") == "8.5.1")
assert "typed" not in by_environment
PYTHON

for version in 8.1.8 8.5.1; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "click==$version"
    "$folder/$version/bin/python" "$folder/command.py"
done
