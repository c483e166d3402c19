"""Connections that end, as an event of theirs can't be decided."""

import pytest
import sqlalchemy as sa

from flask_records import Unavailable

from ...authentication import ANN
from ...realtime import BOB, in_memory, make_live_records


class Outage:
    """A database that is away for some of what is asked."""

    def __init__(self):
        self.error = None

    def __call__(self, *args):
        if self.error is not None:
            raise self.error


AWAY = [
    Unavailable("The database is away."),
    sa.exc.OperationalError("", {}, Exception(), connection_invalidated=True),
]


@pytest.fixture
def outage():
    return Outage()


def connected(site):
    site.register(BOB)
    return site.connect(ANN), site.connect(BOB)


@pytest.mark.parametrize("error", AWAY)
def test_rule_that_needs_the_database(tmp_path, outage, error, caplog):
    """Bob may have missed an event. Ann has not."""

    def readable(user):
        if user["id"] == 2:
            outage()

        return True

    records = make_live_records(readable=readable)

    with in_memory(records, tmp_path) as site, site.app.app_context():
        ann, bob = connected(site)
        outage.error = error
        site.records["messages"].create({"text": "Hi"})

    assert ann.names() == ["messages created"]
    assert (ann.is_connected, bob.is_connected) == (True, False)


def test_database_that_is_away_is_asked_once_for_an_event(tmp_path, outage):
    asked = []

    def readable(user):
        asked.append(user["id"])
        outage()
        return True

    records = make_live_records(readable=readable)

    with in_memory(records, tmp_path) as site, site.app.app_context():
        clients = connected(site)
        outage.error = AWAY[0]
        asked.clear()
        site.records["messages"].create({"text": "Hi"})

    assert len(asked) == 1
    assert [each.is_connected for each in clients] == [False, False]


def test_entry_that_can_not_be_read(tmp_path, caplog):
    """Workers of another version may have written it."""
    with in_memory(make_live_records(), tmp_path) as site:
        ann = site.connect(ANN)
        server = site.app.extensions["records_realtime"]
        server.log.append([b'{"events":[{}]}'])
        server.catch_up()
        again = site.connect(ANN)
        again.result("create", "messages", {"text": "Hi"})

    assert not ann.is_connected
    assert again.names() == ["messages created"]
    assert "Events could not be sent." in caplog.text
