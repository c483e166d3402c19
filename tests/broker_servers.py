"""Servers of a test's own that carry events, which it may stop."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from .faults.postgresql import free_port
from .waiting import START
from .waiting import wait_until


class Server:
    """A server that keeps its data in a folder."""

    def __init__(self, command, url, port):
        self._command = command
        self._port = port
        self.process = None
        self.url = url
        """Its URL."""

    def start(self):
        """Start it, and wait until it answers."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(self._command, **quiet)
        wait_until(self.answers, START)

    def stop(self):
        """Kill it."""
        self.process.kill()
        self.process.wait(20)

    @contextmanager
    def paused(self):
        """Let it hang during the block."""
        os.kill(self.process.pid, signal.SIGSTOP)

        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)

    def answers(self):
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self._port)) == 0


@contextmanager
def nats_server():
    """A NATS with JetStream."""
    # Debian keeps it where the path of a user does not lead.
    program = shutil.which("nats-server", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program, "nats-server is not installed."

    with TemporaryDirectory(prefix="records-nats-") as folder:
        port = free_port()
        command = [program, "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", folder]
        server = Server(command, f"nats://127.0.0.1:{port}", port)
        server.start()

        try:
            yield server
        finally:
            server.stop()
