"""Sockets of those who use the example application."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from .realtime import connected
from .realtime import running_asgi


@pytest.fixture
def connect(example):
    """A function that connects a person, or nobody, over a WebSocket."""
    with ExitStack() as stack:
        url = stack.enter_context(running_asgi(example.app, example.realtime))

        def connect(person=None):
            client = stack.enter_context(connected(url))

            if person is not None:
                login = {"strategy": "jwt", "accessToken": person.token}
                client.result("create", "authentication", login)

            return client

        yield connect
