"""The connections of one worker, by id, by channel and by login."""

from __future__ import annotations

import random
import threading

import pytest
from werkzeug.datastructures import Headers

from flask_records import Params
from flask_records.realtime.connection import Connection
from flask_records.realtime.connections import Connections


@pytest.fixture
def connections():
    return Connections()


def open_connection(connections, id, *channels):
    connection = Connection(id, Headers(), 50, connections)
    connection.join(*channels)
    connections.add(connection)
    return connection


def ids(connections):
    return [connection.id for connection in connections]


def test_members_are_those_who_have_joined(connections):
    a = open_connection(connections, "a", "red")
    b = open_connection(connections, "b", "red", "blue")

    a.join("green")
    b.leave("red", "unknown")

    channels = ("red", "blue", "green", "black")
    members = {name: ids(connections.members(name)) for name in channels}
    assert members == {"red": ["a"], "blue": ["b"], "green": ["a"], "black": []}


def test_member_of_several_channels_is_one_member(connections):
    a = open_connection(connections, "a", "red", "blue")
    b = open_connection(connections, "b", "blue")

    assert connections.members("red", "blue", "black") == [a, b]


def test_channels_that_are_assigned_replace_others(connections):
    a = open_connection(connections, "a", "red", "blue")

    a.channels = {"blue", "green"}
    a.channels |= {"black"}

    assert a.channels == {"blue", "green", "black"}
    assert connections.members("red") == []
    assert connections.members("green", "black") == [a]


def test_channels_cannot_be_changed_behind_the_back(connections):
    a = open_connection(connections, "a", "red")

    with pytest.raises(AttributeError):
        a.channels.add("blue")


def test_connection_is_no_member_before_it_is_added(connections):
    connection = Connection("a", Headers(), 50, connections)
    connection.join("red")

    assert connections.members("red") == []
    connections.add(connection)
    assert connections.members("red") == [connection]


def test_connection_that_is_removed_leaves_nothing_behind(connections):
    a = open_connection(connections, "a", "red")

    assert connections.remove("a") is a
    a.join("blue")
    a.channels = {"green"}

    assert connections.remove("a") is None
    assert connections.members("red", "blue", "green") == []
    assert dict(connections) == connections._members == {}


def log_in(connection, user_id, token_id):
    authentication = {"payload": {"jti": token_id}}
    connection.set_login(Params(user_id=user_id, authentication=authentication))


def test_connections_are_found_by_their_user_and_their_token(connections):
    a, b, _ = (open_connection(connections, id) for id in "abc")
    log_in(a, 7, "first")
    log_in(b, "7", "second")

    found = {id: ids(connections.with_login(id)) for id in (7, "7", "second", None)}

    assert found == {7: ["a", "b"], "7": ["a", "b"], "second": ["b"], None: []}


def test_connection_is_found_by_its_login_of_now(connections):
    a = open_connection(connections, "a")
    log_in(a, 7, "first")
    log_in(a, 8, "second")
    before = [ids(connections.with_login(id)) for id in (7, "first", 8, "second")]
    connections.remove("a")
    after = [connections.with_login(id) for id in (8, "second")]

    assert before == [[], [], ["a"], ["a"]]
    assert after == [[], []]


def test_threads_that_join_and_leave_keep_channels_and_members_in_step(connections):
    names = [f"channel {number}" for number in range(5)]
    opened = [open_connection(connections, str(number)) for number in range(8)]

    def churn(seed):
        chance = random.Random(seed)

        for _ in range(2000):
            connection, name = chance.choice(opened), chance.choice(names)
            action = chance.randrange(4)

            if action == 0:
                connection.join(name)
            elif action == 1:
                connection.leave(name)
            elif action == 2:
                connection.channels = set(chance.sample(names, 2))
            elif connections.remove(connection.id) is not None:
                connections.add(connection)

    threads = [threading.Thread(target=churn, args=(seed,)) for seed in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]

    for name in names:
        members = {each for each in opened if name in each.channels}
        assert set(connections.members(name)) == members
