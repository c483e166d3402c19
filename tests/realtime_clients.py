"""A server with several processes, and clients that stay connected."""

import itertools
import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from socket import SHUT_RDWR

import websocket

from .processes import environment, ROOT, started, wait_for_workers
from .realtime_app import PASSWORD


def run_command(settings, *arguments):
    """Run a command of the application in a process of its own."""
    command = [sys.executable, "-m", "flask", "--app", "tests.realtime_app"]
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def settings_of(folder, teams=("all",), **variables):
    """The environment of an application with new users, one of each of the teams."""
    settings = {**environment(f"sqlite:///{folder}/realtime.db", folder), **variables}
    run_command(settings, "prepare", *teams)
    return settings


@contextmanager
def serving(settings):
    """A gunicorn that serves the application, stopped after the block."""
    logs = ["--access-logfile", "-", "--access-logformat", "Served by %(p)s"]
    times = ["--keep-alive", "60", "--graceful-timeout", "1"]
    server = ["-c", "instance/gunicorn.conf.py", *logs, *times]

    with started(
        [*server, "tests.realtime_app:create_asgi_app()"], settings
    ) as running:
        if settings["WEB_CONCURRENCY"] == "2":
            wait_for_workers(running)

        yield running


def login_of(number):
    email = f"{number}@example.com"
    return {"strategy": "local", "email": email, "password": PASSWORD}


class Socket:
    """A client that is connected to one worker and stores its events."""

    def __init__(self, host, token=None):
        self.events = []
        """The name and the record of each event."""
        self.is_open = True
        headers = [] if token is None else [f"Authorization: Bearer {token}"]
        url = f"ws://{host}/socket.io/?EIO=4&transport=websocket"
        self._socket = websocket.create_connection(url, header=headers, timeout=60)
        self._connection = self._socket.sock
        self._numbers = itertools.count()
        self._answers = {}
        self._arrived = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)

        try:
            self._join()
        except BaseException:
            self.close()
            raise

        self.since = time.monotonic()
        """The time after which the server knows the connection."""
        self._reader.start()

    def _join(self):
        self._socket.recv()
        self._socket.send("40")
        answer = self._socket.recv()

        # Some events come before the answer.
        while not answer.startswith("40"):
            self._take(answer)
            answer = self._socket.recv()

    def call(self, *message, timeout=30):
        """The error and the result of a call.

        :raises ConnectionError: There is no answer.
        """
        number = next(self._numbers)

        try:
            self._socket.send(f"42{number}{json.dumps(message)}")
        except (OSError, websocket.WebSocketException) as error:
            raise ConnectionError from error

        with self._arrived:
            self._arrived.wait_for(
                lambda: number in self._answers or not self.is_open, timeout
            )

        if number not in self._answers:
            raise ConnectionError

        error, *rest = self._answers.pop(number)
        return error, *(rest or [None])

    def log_in(self, number):
        error, result = self.call("create", "authentication", login_of(number))
        assert error is None, error
        return result["accessToken"]

    def worker(self):
        return self.call("find", "processes")[1][0]["id"]

    def waits_for_end(self, timeout=60):
        """Return ``True`` if the server ends the connection."""
        with self._arrived:
            return self._arrived.wait_for(lambda: not self.is_open, timeout)

    def texts(self):
        return [record.get("text") for _, record in self.events]

    def gets(self, text):
        """Return ``True`` if an event with a text arrives."""
        with self._arrived:
            return self._arrived.wait_for(lambda: text in self.texts(), 60)

    def close(self):
        """Hang up, once all that came before the server's goodbye is read."""
        # Its own "close" would read, too, and skip events that the reader misses.
        with suppress(OSError, websocket.WebSocketException):
            self._socket.send_close()

        if self._reader.is_alive():
            self._reader.join(3)

        # It would go on waiting for a server that has hung.
        with suppress(OSError):
            self._connection.shutdown(SHUT_RDWR)

        self._socket.shutdown()

    def _read(self):
        try:
            while text := self._socket.recv():
                self._take(text)
        except (OSError, websocket.WebSocketException):
            pass

        # A server that is killed leaves that to the client.
        self._socket.shutdown()

        with self._arrived:
            self.is_open = False
            self._arrived.notify_all()

    def _take(self, text):
        if text == "2":
            self._socket.send("3")
        elif text.startswith("43"):
            number, _, answer = text[2:].partition("[")

            with self._arrived:
                self._answers[int(number)] = json.loads(f"[{answer}")
                self._arrived.notify_all()
        elif text.startswith("42"):
            name, record = json.loads(text[2:])

            with self._arrived:
                self.events.append((name, record))
                self._arrived.notify_all()
