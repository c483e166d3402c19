import gc

import pytest

from flask_records.signals import OrderedSignal


@pytest.fixture
def calls():
    return []


@pytest.fixture
def signal():
    return OrderedSignal(("find", "create"))


def noting(calls, name):
    """A receiver that notes its name."""
    return lambda sender, *args: calls.append(name)


def test_receivers_run_in_the_order_of_their_connection(signal, calls):
    names = [f"receiver {number}" for number in range(50)]

    for name in names:
        signal("create")(noting(calls, name))

    signal.run("create")

    assert calls == names


def test_receiver_connected_twice_runs_once(signal, calls):
    receiver = noting(calls, "once")
    signal()(receiver)
    signal("create")(receiver)

    signal.run("create")

    assert calls == ["once"]


def test_receivers_are_kept_alive(signal, calls):
    """A hook that a factory makes has no other reference."""
    signal("create")(noting(calls, "decorated"))
    signal.connect(noting(calls, "connected"), "create", weak=True)

    gc.collect()
    signal.run("create")

    assert calls == ["decorated", "connected"]


def test_misspelt_sender_raises_where_the_decorator_is_written(signal):
    with pytest.raises(ValueError, match="'craete' is not .*: find, create."):
        signal("find", "craete")


@pytest.mark.parametrize(
    "decorate",
    [
        lambda records, service, hook: service.before(hook),
        lambda records, service, hook: records.after(hook),
        lambda records, service, hook: service.events(hook),
        lambda records, service, hook: service.publish(hook),
        lambda records, service, hook: records.publish(hook),
    ],
)
def test_decorator_without_parentheses_is_refused(records, messages, decorate):
    def stamp(method, context):
        pass

    with pytest.raises(TypeError, match="'stamp' is not a name. Write .* parentheses"):
        decorate(records, messages, stamp)


@pytest.mark.parametrize("name", ["connect", "connected_to"])
def test_misspelt_sender_raises_in_blinkers_own_ways(signal, name):
    with pytest.raises(ValueError, match="'craete' is not a method or an event here"):
        getattr(signal, name)(print, "craete").__enter__()


def test_connected_to_is_connected_in_the_block_only(signal, calls):
    with signal.connected_to(noting(calls, "block"), "create"):
        signal.run("create")

    signal.run("create")

    assert calls == ["block"]


def test_muted_signal_runs_nothing(signal, calls):
    signal()(noting(calls, "ran"))

    with signal.muted():
        signal.run("create")

    assert calls == []


def test_async_callable_object_is_waited_for(app_context, signal, calls):
    """A check that is never awaited would let everybody in."""

    class Check:
        async def __call__(self, sender):
            calls.append("async")

    signal("create")(Check())

    signal.run("create")

    assert calls == ["async"]
