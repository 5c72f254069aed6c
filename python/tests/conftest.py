"""Scenarios that are run often, and results that are looked at often."""

import matplotlib
import pytest

import narrows

matplotlib.use("agg")


def small_scenario() -> narrows.Scenario:
    """Web search traffic on two racks; a run takes some milliseconds."""
    scenario = narrows.Scenario.template("leaf-spine")
    scenario.set(
        {
            "name": "small",
            "topology.leaf_spine.racks": 2,
            "topology.leaf_spine.hosts_per_rack": 4,
            "stop.after": "6 ms",
            "measure.from": "1 ms",
            "record.queues.interval": "100 us",
            "record.links": {"interval": "100 us"},
            "record.windows": {"interval": "100 us", "flows": 10},
            "record.state": {"interval": "100 us", "flows": 10},
        }
    )
    return scenario


@pytest.fixture
def scenario() -> narrows.Scenario:
    return small_scenario()


@pytest.fixture(scope="session")
def results() -> narrows.Results:
    return narrows.run(small_scenario(), seed=3)


@pytest.fixture(scope="session")
def cells() -> dict[str, list[narrows.Results]]:
    """Two controls, three seeds each."""
    return {
        name: [
            narrows.run(small_scenario(), seed=seed, set={"traffic.search.cc": {name: {}}, "stop.after": "20 ms"})
            for seed in (1, 2, 3)
        ]
        for name in ("dctcp", "cubic")
    }
