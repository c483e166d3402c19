"""Users who are online in the example application."""

from __future__ import annotations

from .example import ON_SQLITE
from .example_sockets import connect as connect
from .waiting import wait_until

pytestmark = ON_SQLITE


def test_users_see_who_is_online_without_events(connect, ann, bob):
    client = connect(ann)
    query = {"channel": "authenticated", "userId": {"$in": [ann.id, bob.id]}}

    def online():
        return [r["userId"] for r in client.result("find", "presence", query)["data"]]

    wait_until(lambda: online() == [ann.id], 30)
    connect(bob)
    wait_until(lambda: online() == [ann.id, bob.id], 30)

    assert [name for name in client.names() if name.startswith("presence")] == []


def test_strangers_do_not_see_who_is_online(api):
    assert api("GET", "/presence")[0] == 401
