"""The numbers that a worker has for its operators."""

from ...authentication import ANN
from ...realtime import in_memory, make_live_records


def test_connections_and_the_events_of_each_are_counted(tmp_path):
    with in_memory(make_live_records(), tmp_path) as site:
        clients = [site.connect(), *(site.connect(ANN) for _ in range(3))]
        before = site.realtime.metrics(site.app)
        clients[1].result("create", "messages", {"text": "A"})
        clients[1].disconnect()
        after = site.realtime.metrics(site.app)

    assert (before["connections"], after["connections"]) == (4, 3)
    assert after["events_sent"] - before["events_sent"] == 3
