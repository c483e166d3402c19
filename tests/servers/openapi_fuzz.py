"""Sends an application requests that its OpenAPI document allows, and others, also with
what the answers to requests before have.

Run ``python -m tests.servers.openapi_fuzz APPLICATION DATABASE_URL``. It uses a new
database on the server of that URL. It ends with an error if an answer is a failure of
the server, or is not in the document, or if the time was too short for each operation.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from ..databases import new_database
from ..processes import environment, gunicorn, ROOT

HOOKS = str(Path(__file__).with_name("openapi_hooks.py"))

USER = {"email": "fuzz@example.com", "password": "correct horse battery"}

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
]

ENDS = ("updateUsers", "patchUsers", "removeUsers")
"""The operations that change the password of the user, or remove it."""

SECONDS = 60
"""The time for requests to one database."""

START = 120
"""The time for what is not bounded by that."""


def main(application, database_url, seconds=SECONDS):
    """Run schemathesis, and return what is wrong, or else ``None``.

    :param application: The module of the application.
    """
    with tempfile.TemporaryDirectory() as folder, new_database(database_url) as url:
        file, report = Path(folder, "openapi.json"), Path(folder, "report.json")
        file.write_text(document(application, url, folder))

        # A URL may have all parameters at their longest.
        with gunicorn(
            url, folder, application, GUNICORN_CMD_ARGS="--limit-request-line 0"
        ) as server:
            call(server, "users", USER)
            token = call(server, "authentication", {"strategy": "local", **USER})
            status = subprocess.run(
                [Path(sys.executable).with_name("schemathesis"), "run", file]
                + ["--url", f"http://{server.host}", "--checks", ",".join(CHECKS)]
                + ["--header", f"Authorization: Bearer {token['accessToken']}"]
                # These end the login.
                + ["--exclude-path-regex", "^/authentication"]
                + [part for name in ENDS for part in ("--exclude-operation-id", name)]
                + ["--phases", "coverage,fuzzing,stateful", "--max-examples", "10"]
                + ["--max-time", str(seconds), "--report-json-path", report]
                + ["--generation-database", "none"],
                check=False,
                cwd=folder,
                env={**os.environ, "SCHEMATHESIS_HOOKS": HOOKS},
                timeout=seconds + START,
            ).returncode

        if status:
            return status

        operations = json.loads(report.read_text())["operations"]

    # A run that is out of time is a success for schemathesis.
    if not 0 < operations["selected"] == operations["tested"]:
        return f"Not all operations were tested within {seconds} seconds: {operations}"

    return None


def document(application, database_url, folder):
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", application, "records", "openapi"],
        check=True,
        capture_output=True,
        cwd=ROOT,
        env=environment(database_url, folder),
        text=True,
    ).stdout


def call(server, path, data):
    request = urllib.request.Request(
        f"http://{server.host}/{path}",
        json.dumps(data).encode(),
        {"Content-Type": "application/json"},
    )

    with urllib.request.urlopen(request) as response:
        return json.load(response)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
