"""An application with connections, and a client that speaks Socket.IO by hand."""

import itertools
import json
import socket
import threading
from contextlib import closing, contextmanager, ExitStack
from http.client import HTTPConnection

import websocket
from sqlalchemy.orm import DeclarativeBase

from flask_records import RecordsError, SQLAlchemyService, TableTokens, TokenMixin
from flask_records.realtime import Realtime

from .authentication import ANN, make_records, serving
from .models import Base, Message, Room, User
from .waiting import wait_until

POLL = "/socket.io/?EIO=4&transport=polling"

BOB = {"email": "bob@example.com", "password": "battery staple"}


class Tokens(DeclarativeBase):
    metadata = Base.metadata


class Token(TokenMixin, Tokens):
    __tablename__ = "token"


class Plain:
    """A service that returns the data of a create."""

    def find(self, params):
        return []

    def create(self, data, params):
        return data


def make_live_records(**options):
    """An extension with users who can be logged out, and messages in rooms."""
    users = SQLAlchemyService(
        User,
        hidden=["password"],
        multi=True,
        whitelist=["$populate"],
        events=["blocked"],
    )
    records = make_records(users=users, tokens=TableTokens(Token))
    records.add("rooms", SQLAlchemyService(Room, whitelist=["$populate"]))
    service = SQLAlchemyService(
        Message,
        multi=True,
        events=["typing"],
        whitelist=["$populate", "$search", "$not"],
    )
    records.add("messages", service, **options)
    return records


class Site:
    """A running application, and its clients."""

    def __init__(self, http, url, realtime, stack):
        self.http = http
        self.app = http.application
        self.url = url
        self.realtime = realtime
        self._stack = stack

    @property
    def connections(self):
        """The connections as the server knows them."""
        server = self.app.extensions["records_realtime"]
        return server.connections.all()

    def connect(self, user=None, **headers):
        """A client that has logged in over the socket if there is a user."""
        client = self._stack.enter_context(connected(self.url, **headers))
        client.settle = self.settle

        if user is not None:
            client.log_in(user)
            self.settle()

        return client

    @property
    def records(self):
        return self.app.extensions["records"]

    def settle(self):
        """Wait until the events of all calls before are on their way."""
        log = self.app.extensions["records_realtime"].log
        wait_until(lambda: log.is_read)

    def write(self):
        """Create a message, whose event all connections with a login get."""
        with self.app.app_context():
            self.records["messages"].create({"text": "Hi"})

    def emit(self, *texts):
        """Send an event for each of some texts."""
        with self.app.app_context():
            for text in texts:
                self.records["messages"].emit("typing", {"id": 1, "text": text})

    def register(self, user):
        """The record of a new user."""
        response = self.http.post("/users", json=user)
        assert response.status_code == 201
        return response.json

    def token(self, user=ANN):
        """A new token over HTTP."""
        body = {"strategy": "local", **user}
        return self.http.post("/authentication", json=body).json["accessToken"]


class Client:
    """A connection to Socket.IO."""

    def __init__(self, socket):
        self.socket = socket
        self._ids = itertools.count(1)
        self._events = []
        self.settle = lambda: None
        """Waits until the events of all calls before are on their way."""
        self.id = None
        assert self._packet().startswith("0{")
        socket.send("40")
        self.welcome = self._packet()
        is_joined = self.welcome.startswith("40{")
        self.id = json.loads(self.welcome[2:])["sid"] if is_joined else None

    def send(self, packet):
        """Send a packet of any text."""
        self.socket.send(packet)

    def call(self, *message):
        """The arguments of the answer to a message: an error, or null and a result."""
        id = next(self._ids)
        self.socket.send(f"42{id}{json.dumps(message)}")

        while True:
            packet = self._packet()
            prefix = f"43{id}["

            if packet.startswith(prefix):
                return json.loads(packet[len(prefix) - 1 :])

    def result(self, *message):
        """The result of a call that succeeds."""
        error, *result = self.call(*message)
        assert error is None, error
        return result[0]

    def error(self, *message):
        """The code and the message of the error of a call that fails."""
        answer = self.call(*message)
        assert len(answer) == 1, answer
        return answer[0]["code"], answer[0]["message"]

    def log_in(self, user=ANN):
        return self.result("create", "authentication", {"strategy": "local", **user})

    def events(self):
        """The events since the last time."""
        # Events that were sent before arrive before the answer.
        self.settle()
        self.call("find", "nothing")
        events, self._events = self._events, []
        return events

    def names(self):
        """The names of the events since the last time."""
        return [name for name, *rest in self.events()]

    def _packet(self):
        while True:
            packet = self.socket.recv()

            if packet == "2":
                self.socket.send("3")
            elif packet.startswith("42["):
                self._events.append(json.loads(packet[2:]))
            else:
                return packet


class MemoryClient:
    """A client within the process, which is used as :class:`Client` is."""

    def __init__(self, client):
        self._client = client
        self.id = client.id

    def call(self, method, path, *arguments):
        """The arguments of the answer: an error, or null and a result."""
        try:
            return [None, self._client.call(method, path, *arguments)]
        except RecordsError as error:
            return [error.to_dict()]

    result = Client.result
    error = Client.error
    log_in = Client.log_in

    @property
    def is_connected(self):
        return self._client.is_connected

    def disconnect(self):
        self._client.disconnect()

    def events(self):
        """The events since the last time."""
        return [list(event) for event in self._client.events()]

    def names(self):
        """The names of the events since the last time."""
        return [name for name, *rest in self.events()]


class MemorySite(Site):
    """An application, and its clients within the process."""

    def __init__(self, http, realtime):
        super().__init__(http, None, realtime, None)

    def connect(self, user=None, **headers):
        client = MemoryClient(self.realtime.test_client(self.app, headers=headers))

        if user is not None:
            client.log_in(user)

        return client

    def settle(self):
        """Events are sent in the thread of their call."""


def fetch(url, verb, path, body=None, headers=None, source="127.0.0.1"):
    """The status and the text of an answer over real HTTP."""
    host, address = url.removeprefix("http://"), (source, 0)

    with closing(HTTPConnection(host, timeout=60, source_address=address)) as http:
        http.request(verb, path, body, headers or {})
        response = http.getresponse()
        return response.status, response.read().decode()


def begin_polling(url, source="127.0.0.1"):
    """The path of a new session that polls."""
    status, text = fetch(url, "GET", POLL, source=source)
    assert status == 200, text
    return f"{POLL}&sid={json.loads(text[1:])['sid']}"


@contextmanager
def connected(url, **headers):
    """A client of a server."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    socket = websocket.create_connection(
        f"{url.replace('http', 'ws', 1)}/socket.io/?EIO=4&transport=websocket",
        header=lines,
        timeout=30,
        suppress_origin="Origin" in headers or None,
        # The validation takes longer than all the rest.
        skip_utf8_validation=True,
    )

    try:
        yield Client(socket)
    finally:
        # The socket must be closed even if the server has closed the connection.
        socket.shutdown()


def loop_of(site):
    """The event loop that holds the connections of a site."""
    return site.app.extensions["records_realtime"].worker


def reason_of(client):
    """The code and the reason of the end of a connection, ``None`` without one."""
    client.socket.settimeout(30)

    try:
        while True:
            opcode, frame = client.socket.recv_data_frame(True)

            if opcode == websocket.ABNF.OPCODE_CLOSE:
                return int.from_bytes(frame.data[:2], "big"), frame.data[2:].decode()
    except (websocket.WebSocketException, OSError):
        return None


@contextmanager
def running_asgi(app, realtime):
    """The address of an ASGI server."""
    # It takes a while to import.
    from .uvicorn_server import QuickServer

    server = QuickServer(realtime.asgi(app, threads=8))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=[[listener]])
        thread.start()

        try:
            wait_until(lambda: server.started, 30)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def live(records, tmp_path, settings=None, *, realtime=None, login=None, **config):
    """A site whose only user is Ann."""
    if settings is not None:
        config["RECORDS_REALTIME"] = settings

    realtime = realtime or Realtime(records)
    config |= {"realtime": realtime, "url": f"sqlite:///{tmp_path / 'live.db'}"}

    with serving(records, login, **config) as http, ExitStack() as stack:
        server = running_asgi(http.application, realtime)
        address = stack.enter_context(server)
        clients = stack.enter_context(ExitStack())
        yield Site(http, address, realtime, clients)


@contextmanager
def in_memory(records, tmp_path, settings=None, *, realtime=None, login=None, **config):
    """A site within the process, whose only user is Ann."""
    if settings is not None:
        config["RECORDS_REALTIME"] = settings

    realtime = realtime or Realtime(records)

    with serving(records, login, realtime=realtime, **config) as http:
        yield MemorySite(http, realtime)
