"""A Redis server of a test's own, which comes and goes."""

import os
import signal
import subprocess
import tempfile
from contextlib import contextmanager

import pytest
import redis

from .processes import free_port
from .waiting import START, wait_until


def answers(client):
    try:
        return client.ping()
    except redis.RedisError:
        return False


class OwnRedis:
    """A Redis server that keeps nothing while it is stopped."""

    def __init__(self, folder, options=()):
        self.options = options
        self.port = free_port()
        self._folder = folder
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        options = f"--port {self.port} --daemonize no --dir {self._folder}".split()
        self.process = subprocess.Popen(
            ["redis-server", *options, "--save", "", *self.options],
            stdout=subprocess.DEVNULL,
        )
        self.wait()

    def wait(self):
        with redis.Redis.from_url(self.url) as client:
            wait_until(lambda: answers(client), START)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    @contextmanager
    def paused(self):
        """Let the server hang during the block."""
        os.kill(self.process.pid, signal.SIGSTOP)

        try:
            yield
        finally:
            os.kill(self.process.pid, signal.SIGCONT)


@contextmanager
def own_redis(*options):
    """A server that is stopped after the block.

    :param options: More words of its command line.
    """
    with tempfile.TemporaryDirectory() as folder:
        server = OwnRedis(folder, options)

        try:
            server.start()
        except FileNotFoundError:
            pytest.skip("redis-server is not installed")

        try:
            yield server
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
            server.stop()
