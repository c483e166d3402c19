"""Events for those whom a token of the host names, over sockets and as streams."""

import pytest

from flask_records import NotAuthenticated, SQLAlchemyService, Strategy

from ...authentication import ANN, API_KEY, bearer, make_records
from ...event_stream import listening
from ...models import Message
from ...realtime import live
from ...waiting import wait_until

revoked = set()


def check(service, data, params):
    if data["accessToken"] in revoked:
        raise NotAuthenticated("Revoked by the host.")

    id = data["accessToken"].removeprefix("host-")
    return {"user": service.get_user(id), "accessToken": data["accessToken"]}


def parse(headers):
    token = headers.get("Authorization", "").partition(" ")[2]
    return {"accessToken": token} if token.startswith("host-") else None


@pytest.fixture
def records():
    revoked.clear()
    strategies = {"host": Strategy(check, parse), "api-key": API_KEY}
    records = make_records(strategies=strategies)
    service = SQLAlchemyService(Message)
    records.add("messages", service, strategies=["host"])
    records["messages"].publish()(lambda event, record, context: "authenticated")
    return records


def test_token_of_the_host_gets_events(records, tmp_path):
    with live(records, tmp_path, {"stream": "sse"}) as site:
        headers = bearer(
            f"host-{site.register({**ANN, 'email': 'eve@example.com'})['id']}"
        )
        socket = site.connect(Authorization=headers["Authorization"])

        with listening(site.url, headers=headers) as stream:
            site.http.post("/messages", json={"text": "Hi"}, headers=headers)

            assert stream.next()["event"] == "created"
            assert socket.names() == ["messages created"]

            revoked.add(headers["Authorization"].partition(" ")[2])

            assert stream.next()["event"] == "loggedOut"
            wait_until(lambda: "loggedOut" in socket.names())
