"""Holds the reference application against a conformance kit.

Run ``python -m tests.conformance.check KIT DATABASE_URL``. KIT is a copy of the kit in
which ``npm run setup`` has been run. A new database on the server of DATABASE_URL is
used.
"""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from ..databases import new_database
from ..waiting import START, wait_until

RECORDINGS = ("v4", "v4-typed", "v4-pg", "v5", "v5-pg")


def main(kit, database_url):
    """Run the cases and all suites, and return the highest exit status."""
    with (
        new_database(database_url) as url,
        serving(url) as base,
        tempfile.TemporaryDirectory() as folder,
    ):
        runs = [
            compare(kit, base, database_url, Path(folder)),
            adapter_suite(kit, base, "v4"),
            adapter_suite(kit, base, "v5"),
            client_suite(kit, base, "v4", "rest,bundle,socketio"),
            client_suite(kit, base, "v5", "rest,bundle,socketio"),
            compare_sockets(kit, base),
        ]

    return max(runs)


def compare(kit, base, database_url, folder):
    cases = json.loads((kit / "cases.json").read_text())
    known = json.loads((Path(__file__).parent / "deviations.json").read_text())
    kind = re.match(r"\w+", database_url)[0]
    reasons = known["every database"] | known.get(kind, {})
    skip = {case: reason for reason, named in reasons.items() for case in named}
    files = {"cases": cases, "skip": skip}

    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))

    return node(
        kit / "recorder.js",
        "compare",
        *("--base", base, "--level", "class"),
        *("--with", ",".join(str(kit / f"recordings/{n}.json") for n in RECORDINGS)),
        *("--cases", folder / "cases.json", "--skip", folder / "skip.json"),
    )


def adapter_suite(kit, base, version):
    return node(kit / "adapter-bridge.js", "--base", base, "--suite", version)


def client_suite(kit, base, version, transports):
    return node(
        kit / "client-suite.js",
        *("--base", base, "--client", version, "--transport", transports),
    )


def compare_sockets(kit, base):
    """Compare the answers over sockets. This recorder can't be told what to skip."""
    known = json.loads((Path(__file__).parent / "socket_deviations.json").read_text())
    recording = kit / "recordings/socket-v5.json"
    run = subprocess.run(
        ["node", kit / "socket-recorder.js", "compare", "--base", base]
        + ["--with", recording, "--level", "class"],
        check=False,
        capture_output=True,
        text=True,
    )
    failed = re.findall(r"^not ok (\S+)", run.stdout, re.MULTILINE)
    print(run.stdout.splitlines()[-1] if run.stdout else run.stderr)
    print("beside those listed:", sorted({*failed} - {*known}) or "none", flush=True)
    return int(not run.stdout or not {*failed} <= {*known})


def node(*arguments):
    print("$ node", *arguments, flush=True)
    return subprocess.run(["node", *map(str, arguments)], check=False).returncode


@contextmanager
def serving(database_url):
    """The address of the reference application, served by a process of its own."""
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.conformance"],
        env=os.environ | {"PORT": str(port), "DATABASE_URL": database_url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    try:
        wait_for(f"{base}/__oracle/info", process)
        yield base
    finally:
        process.terminate()
        process.wait()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(url, process):
    """Wait until a server answers."""

    def answers():
        assert process.poll() is None, f"{url} does not answer."

        try:
            urllib.request.urlopen(url, timeout=1).close()
        except OSError:
            return False

        return True

    wait_until(answers, START)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kit", type=Path)
    parser.add_argument("database_url")
    sys.exit(main(**vars(parser.parse_args())))
