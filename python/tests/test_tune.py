"""Tuning: finds what is best, keeps constraints, comes out the same."""

from pathlib import Path
from typing import Any

import pytest
from conftest import small_scenario

import narrows

LOAD = "traffic.search.pattern.poisson.load"


def test_the_smallest_queue_comes_with_the_smallest_load(tmp_path: Path) -> None:
    tuned = narrows.tune(
        small_scenario(),
        {LOAD: narrows.Real(0.1, 0.9)},
        minimize="total.packet_hops",
        trials=12,
        seeds=2,
        out=tmp_path / "out",
    )
    assert len(tuned.trials) == 12
    assert tuned.best.values["total.packet_hops"] == min(trial.values["total.packet_hops"] for trial in tuned.trials)
    assert tuned.best.params[LOAD] == min(trial.params[LOAD] for trial in tuned.trials)
    run = narrows.run(small_scenario(), set=tuned.best.changes)
    assert run.scenario == narrows.run(small_scenario(), set={LOAD: tuned.best.params[LOAD]}).scenario


def test_the_same_search_comes_out_the_same_and_runs_nothing_twice(tmp_path: Path) -> None:
    def search(trials: int) -> narrows.Tuned:
        k = narrows.Quantity("20 kB", "200 kB", log=True, sets=["switches.tor.marking.step.k"])
        return narrows.tune(
            small_scenario(), {"K": k}, minimize="search.p99_slowdown", trials=trials, seeds=1, out=tmp_path / "out"
        )

    first = search(8)
    cells = sorted(path.name for path in (tmp_path / "out" / "cells").iterdir())
    assert search(8).trials == first.trials
    assert sorted(path.name for path in (tmp_path / "out" / "cells").iterdir()) == cells
    assert search(12).trials[:8] == first.trials
    for trial in first.trials:
        amount, unit = narrows._narrows.quantity(trial.params["K"])
        assert unit == "B"
        assert 20_000 <= amount <= 200_000
        assert trial.changes == {"switches.tor.marking.step.k": trial.params["K"]}


def test_a_front_beats_all_others_and_keeps_constraints(tmp_path: Path) -> None:
    tuned = narrows.tune(
        small_scenario(),
        {LOAD: narrows.Real(0.1, 0.9), "hosts": narrows.Integer(2, 5, sets=["topology.leaf_spine.hosts_per_rack"])},
        minimize="search.mean_fct_us",
        maximize="search.goodput_gbps",
        constraints=["total.packet_hops <= 100e3"],
        trials=16,
        seeds=1,
        out=tmp_path / "out",
    )
    with pytest.raises(ValueError, match="only a front"):
        _ = tuned.best
    kept = [trial for trial in tuned.trials if (trial.metrics["total.packet_hops"] or 0) <= 100e3]
    assert {trial.number for trial in tuned.trials if trial.feasible} == {trial.number for trial in kept}
    for trial in tuned.front:
        assert trial.feasible
        for other in kept:
            fct, goodput = (other.values[name] for name in ("search.mean_fct_us", "search.goodput_gbps"))
            better = fct <= trial.values["search.mean_fct_us"] and goodput >= trial.values["search.goodput_gbps"]
            assert not better or other.values == trial.values
    from narrows import plots

    ax = plots.front(tuned)
    assert len(ax.get_lines()[0].get_xdata()) == len(tuned.front)


def test_choices_may_change_several_things(tmp_path: Path) -> None:
    controls = {
        name: {"traffic.search.cc": {name: {}}, "switches.tor.marking": mark}
        for name, mark in (("dctcp", {"step": {"k": "50 kB"}}), ("cubic", "off"))
    }
    tuned = narrows.tune(
        small_scenario(),
        {"control": narrows.Choice(controls), LOAD: narrows.Choice([0.3, 0.6])},
        minimize="search.p99_slowdown",
        trials=6,
        seeds=1,
        out=tmp_path / "out",
    )
    for trial in tuned.trials:
        assert trial.changes == controls[trial.params["control"]] | {LOAD: trial.params[LOAD]}


@pytest.mark.parametrize(
    ("space", "options", "found"),
    [
        ({}, {"minimize": "search.p99_slowdown"}, "no parameters"),
        ({LOAD: narrows.Real(0.1, 0.2)}, {}, "no goal"),
        ({LOAD: narrows.Real(0.1, 0.2)}, {"minimize": "a.b", "maximize": ["a.b"]}, "twice"),
        ({LOAD: narrows.Real(0.1, 0.2)}, {"minimize": "a.b", "constraints": ["drops < 1"]}, "found the constraint"),
        ({LOAD: narrows.Real(0.1, 0.2)}, {"minimize": "search.p99_slowdwn"}, "did you mean"),
        ({LOAD: narrows.Quantity("1 kB", "1 ms")}, {"minimize": "search.p99_slowdown"}, "not of one kind"),
        ({LOAD: narrows.Quantity("1 parsec", "1 ms")}, {"minimize": "search.p99_slowdown"}, "expected a time"),
        ({"traffic.serch.cc": narrows.Real(0.1, 0.2)}, {"minimize": "search.p99_slowdown"}, "did you mean"),
    ],
)
def test_mistakes_are_told(space: dict[str, Any], options: dict[str, Any], found: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, narrows.Error), match=found):
        narrows.tune(small_scenario(), space, trials=2, seeds=1, out=tmp_path / "out", **options)
