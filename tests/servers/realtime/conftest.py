import pytest

from ...realtime import make_live_records


@pytest.fixture
def records():
    return make_live_records(public=True)


@pytest.fixture(params=["socket", "server"])
def way(request, monkeypatch):
    """The way of packets to clients: some servers show their sockets."""
    from flask_records.realtime.asgi import senders

    if request.param == "server":
        monkeypatch.setattr(senders, "transport_of", lambda scope, owner: None)


@pytest.fixture(autouse=True)
def quick_checks(monkeypatch):
    """The heart of a server beats faster than for people."""
    from flask_records.realtime.asgi import worker

    monkeypatch.setattr(worker, "CHECK_INTERVAL", 0.05)
