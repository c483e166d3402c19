"""The example application behind gunicorn: nothing acknowledged is lost.

Sixteen clients create, patch, read and remove messages, and remember what was
acknowledged. At half time a fault befalls the server. So one run tells both what holds
as long as nothing happens, and what the fault may cost. It is made once for each fault
and database, and each test looks at another side of it.
"""

from __future__ import annotations

import re
import signal
import time
from collections import Counter

import pytest

from ...databases import url_of
from ...processes import drop_tables, gunicorn
from ...waiting import wait_until
from .clocks import Clock
from .postgresql import postgresql
from .storm import CLIENTS, GONE, kill_a_worker, stored_messages, storm

pytestmark = pytest.mark.slow

OUTAGE = 2
RECOVERY = 3
"""The seconds after an outage within which every client is served again."""


class Killed:
    """A worker is killed."""

    variables = {}

    def __init__(self, folder, database):
        pass

    def __call__(self, server):
        kill_a_worker(server)
        wait_until(lambda: len(server.workers) == 3, 10)


class Reloaded(Killed):
    """gunicorn replaces its workers."""

    def __call__(self, server):
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(server.workers) == 4, 10)


class Stopped(Killed):
    """gunicorn ends."""

    def __call__(self, server):
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(15) == 0


class Moved(Killed):
    """The clock is set back by an hour, ahead by ten, and right."""

    def __init__(self, folder, database):
        self._clock = Clock(folder)
        self.variables = self._clock.environment

    def __call__(self, server):
        for hours in (-1, 10, 0):
            self._clock.set(hours * 60 * 60)
            time.sleep(0.3)


class Away(Killed):
    """The database is stopped for some seconds."""

    def __init__(self, folder, database):
        self._database = database

    def __call__(self, server):
        self._database.stop()
        time.sleep(OUTAGE)
        self._database.start()


RUNS = [
    (Killed, "postgresql"),
    (Reloaded, "sqlite"),
    (Stopped, "mariadb"),
    (Moved, "sqlite"),
    (Away, "own postgresql"),
]
OUTAGES = [(Away, "own postgresql")]

in_all = pytest.mark.parametrize(
    "run", RUNS, indirect=True, ids=lambda run: f"{run[0].__name__} {run[1]}"
)


@pytest.fixture(scope="module")
def own_postgresql():
    with postgresql() as server:
        yield server


@pytest.fixture(scope="module")
def run(request, server_urls, tmp_path_factory):
    fault, name = request.param
    folder = tmp_path_factory.mktemp("storm")
    database = None

    if name == "own postgresql":
        database = request.getfixturevalue("own_postgresql")
        url = database.url
    else:
        url = url_of(name, server_urls, folder / "storm.db")

    happens = fault(folder, database)

    with gunicorn(url, folder, **happens.variables) as server:
        run = storm(server, happens)

    run.stored = stored_messages(url)
    run.fault = fault
    yield run

    drop_tables(url)


@in_all
def test_every_request_is_answered_right_or_put_off(run):
    assert [client.refused for client in run.clients] == [[]] * CLIENTS


@in_all
def test_requests_are_put_off_only_while_the_database_is_away(run):
    times = [when for when, _ in run.all("put_off")]

    if run.fault is Away:
        assert times and run.began < min(times) and max(times) < run.ended + RECOVERY
    else:
        assert times == []


@in_all
def test_only_connections_to_a_worker_that_ends_break(run):
    times = [when for when, _ in run.all("unanswered")]

    if run.fault in (Moved, Away):
        assert times == []
    else:
        assert all(when > run.began for when in times)

    # A client that meets no server tries again and again.
    if run.fault is not Stopped:
        assert len(times) <= 2 * CLIENTS


@in_all
def test_every_client_is_served_again(run):
    served_again = [client.answered_at > run.ended for client in run.clients]

    assert served_again == [run.fault is not Stopped] * CLIENTS


@in_all
def test_every_acknowledged_write_is_stored(run):
    known = run.known

    assert len(known) > 50
    assert len(known) == sum(len(client.known) for client in run.clients)
    assert {id: run.stored.get(id, GONE) for id in known} == known


@in_all
def test_nothing_is_stored_but_what_was_asked_for(run):
    doubtful = run.doubtful
    others = run.stored.keys() - run.known.keys() - doubtful.keys()

    assert {run.stored[id] for id in others} <= run.not_acknowledged
    assert all(run.stored.get(id, GONE) in texts for id, texts in doubtful.items())


@in_all
def test_log_has_no_complaint_but_of_the_fault(run):
    others = [line for line in run.server.complaints if "SIGKILL" not in line]

    if run.fault is not Away:
        assert others == []


@pytest.mark.parametrize("run", OUTAGES, indirect=True)
def test_log_has_one_line_for_each_second_of_an_outage(run):
    """Of each of the two workers, and no traceback."""
    log = "".join(run.server.log)
    complaints = [line for line in run.server.complaints if "SIGKILL" not in line]
    seconds = Counter(re.findall(r"\d\d:\d\d:\d\d", "".join(complaints)))

    assert "Traceback" not in log
    assert 1 <= len(complaints) <= 2 * (OUTAGE + RECOVERY)
    assert not seconds or max(seconds.values()) <= 2
