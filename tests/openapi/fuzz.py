"""Sends the example application requests that its OpenAPI document allows, and others.

Run ``python -m tests.openapi.fuzz DATABASE_URL``. It ends with an error if an answer is
a failure of the server, or is not in the document.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from ..servers import environment
from ..servers import gunicorn
from ..servers import ROOT

USER = {"email": "fuzz@example.com", "password": "correct horse battery"}

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
]

SECONDS = 30
"""The time for requests to one database."""


def main(database_url):
    """Run schemathesis, and return its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "openapi.json")
        file.write_text(document(database_url, folder))

        with gunicorn(database_url, folder) as server:
            call(server, "users", USER)
            token = call(server, "authentication", {"strategy": "local", **USER})
            return subprocess.run(
                [Path(sys.executable).with_name("schemathesis"), "run", file]
                + ["--url", f"http://{server.host}", "--checks", ",".join(CHECKS)]
                + ["--header", f"Authorization: Bearer {token['accessToken']}"]
                # These end the login, and the user's rights.
                + ["--exclude-path-regex", "^/authentication"]
                + ["--exclude-operation-id", "removeUsers"]
                + ["--phases", "coverage,fuzzing", "--max-examples", "10"]
                + ["--max-time", str(SECONDS)]
                + ["--generation-database", "none"],
                check=False,
                cwd=folder,
                timeout=10 * SECONDS,
            ).returncode


def document(database_url, folder):
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", "wsgi", "records", "openapi"],
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
