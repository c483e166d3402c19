"""A client that polls, and may upgrade, by hand."""

import json
from http.client import HTTPConnection

import websocket

from flask_records.realtime.protocol import Packet, PROTOCOLS


class Polling:
    """A session of a server at a URL."""

    def __init__(self, url, version="4", path="/socket.io/", headers=None):
        self.url = url
        self.headers = headers or {}
        self.protocol = PROTOCOLS[version]
        self.path = f"{path}?EIO={version}&transport=polling"
        self.packets = []
        self._sockets = []
        status, text = self.request("GET")
        assert status == 200, text
        opening, *self.packets = self.protocol.split(text)
        self.welcome = json.loads(opening[1:])
        self.path += f"&sid={self.welcome['sid']}"

    def request(self, verb, body=None, timeout=60):
        """The status and the text of an answer."""
        host = self.url.removeprefix("http://")
        connection = HTTPConnection(host, timeout=timeout)

        try:
            connection.request(verb, self.path, body, self.headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def post(self, *packets):
        """Send packets in one body, and return the status and the text."""
        return self.request("POST", self.protocol.join(map(Packet, packets)))

    def get(self):
        """Wait for packets, and return them."""
        status, text = self.request("GET")
        assert status == 200, text
        packets = self.protocol.split(text)
        self.packets += packets
        return packets

    def connect(self):
        """Connect to Socket.IO."""
        self.post("40")
        return self.get()

    def answers(self, count):
        """The answers to a number of calls, by their ids, whatever comes first."""
        while len(found := answers_in(self.packets)) < count:
            self.get()

        return found

    def close(self):
        """Close the WebSockets."""
        for socket in self._sockets:
            socket.shutdown()

    def upgrade(self):
        """A WebSocket that has replaced polling."""
        url = self.url.replace("http", "ws", 1)
        path = self.path.replace("polling", "websocket")
        socket = websocket.create_connection(url + path, timeout=60)
        self._sockets.append(socket)
        socket.send("2probe")
        assert socket.recv() == "3probe"
        socket.send("5")
        return socket


def calls(ids, *message):
    """The packets of calls."""
    text = json.dumps(message or ["find", "messages"])
    return [f"42{id}{text}" for id in ids]


def answers_in(packets):
    """The answers in packets, by the ids of their calls, in the order of arrival."""
    found = {}

    for packet in packets:
        if packet.startswith("43"):
            id, bracket, rest = packet[2:].partition("[")
            found[int(id)] = json.loads(bracket + rest)

    return found


def received(socket, count, packets=()):
    """The answers to a number of calls over a WebSocket, some of which are known."""
    packets = list(packets)

    while len(found := answers_in(packets)) < count:
        packets.append(socket.recv())

    return found
