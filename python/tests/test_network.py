"""Networks that a program is attached to."""

from typing import Any

import pytest

import narrows


def star(hosts: int = 4) -> dict[str, Any]:
    """Hosts at one switch, and a traffic group for messages."""
    return {
        "version": 2,
        "name": "ranks",
        "hosts": "ideal",
        "stop": {"after": "1 s"},
        "topology": {"star": {"hosts": hosts, "rate": "100 Gb/s", "delay": "500 ns"}},
        "switches": {"default": {"buffer": {"size": "16 MB"}}},
        "traffic": [{"name": "ranks", "pattern": {"attached": {}}, "rdma": {"ack_every": 64}, "cc": {"dcqcn": {}}}],
    }


def ring(network: narrows.Network, bytes: int) -> int:
    """A ring all-reduce of all hosts. Returns when the last part has arrived."""
    ranks = len(network.hosts)
    steps, part = 2 * (ranks - 1), -(-bytes // ranks)
    for rank in range(ranks):
        network.send(rank, (rank + 1) % ranks, part, tag=1)
    last = 0
    while event := network.next():
        if event.kind == "delivered":
            last = event.time_ps
            if event.tag < steps:
                rank = network.hosts.index(network.message(event.id).dst)
                network.send(rank, (rank + 1) % ranks, part, tag=event.tag + 1)
    return last


def test_a_ring_takes_the_time_of_its_messages_one_after_the_other() -> None:
    network = narrows.Network(star(8), seed=1)
    took = ring(network, 8_000_000)
    # Few acknowledgments share the links with messages.
    assert took == pytest.approx(14 * network.message(0).ideal_ps, rel=0.01)
    assert network.totals()["delivered"] == 14 * 8
    results = network.finish()
    assert results.flows.to_pyarrow().num_rows == 14 * 8


def test_the_same_calls_give_the_same_events() -> None:
    def events() -> list[narrows.Event]:
        network = narrows.Network(narrows.Scenario(star()), seed=3)
        for source in range(3):
            network.send(source, "host3", 100_000, tag=source)
        network.schedule(5_000_000, tag=9)
        return list(iter(network.next, None))

    assert events() == events()
    assert [event.kind for event in events()].count("delivered") == 3


def test_time_is_advanced_over_events_which_wait() -> None:
    network = narrows.Network(star())
    taken, kept = network.schedule(1_000, tag=1), network.schedule(2_000, tag=2)
    assert network.cancel(taken)
    assert not network.cancel(taken)
    network.advance(10_000)
    assert network.now_ps == 10_000
    event = network.next(10_000)
    assert event is not None
    assert (event.kind, event.time_ps, event.id, event.tag) == ("timer", 2_000, kept, 2)
    assert network.next() is None
    assert network.now_ps == network.end_ps


def test_mistakes_are_exceptions() -> None:
    network = narrows.Network(star())
    with pytest.raises(narrows.Error, match='did you mean "host1"'):
        network.send("hots1", 0, 1)
    with pytest.raises(narrows.Error, match="no loopback"):
        network.send(0, 0, 1)
    with pytest.raises(narrows.Error, match='no traffic "rank"'):
        network.send(0, 1, 1, traffic="rank")
    with pytest.raises(IndexError, match="host 4, the network has 4"):
        network.send(4, 0, 1)
    with pytest.raises(IndexError, match="no message has the number 0"):
        network.message(0)
    network.advance(5)
    with pytest.raises(ValueError, match="time was to go back"):
        network.next(4)
    with pytest.raises(ValueError, match="the run is over"):
        network.schedule(2 * network.end_ps)
    with pytest.raises(OverflowError):
        network.send(0, 1, -1)
    network.finish()
    with pytest.raises(ValueError, match="has been finished"):
        network.next()
    with pytest.raises(narrows.Error, match='unknown name "gemni"'):
        narrows.Network({**star(), "traffic": [{"name": "a", "pattern": {"attached": {}}, "cc": {"gemni": {}}}]})
