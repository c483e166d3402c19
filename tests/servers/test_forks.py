"""Workers that are forked from a process with connections to a database."""

import pytest

from ..processes import call, connected, environment, started

APPLICATION = "tests.servers.forked_app:app"


@pytest.mark.parametrize(
    ("url", "is_own"), [("sqlite:///{}/notes.db", True), ("sqlite://", False)]
)
def test_forked_worker_has_connections_of_its_own(tmp_path, url, is_own):
    variables = environment(url.format(tmp_path), tmp_path)

    with started(["--preload", APPLICATION], variables) as server:
        connection = connected(server.host)
        _, opened = call(connection, "GET", "/connections")
        status, notes = call(connection, "GET", "/notes")
        connection.close()

    # A database in memory is in its connection.
    assert (opened["opened_by"] == opened["process"]) == is_own
    assert (status, len(notes)) == (200, 1)
