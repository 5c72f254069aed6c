"""Suspicious settings are reported as warnings, and stay with the results."""

import warnings
from pathlib import Path

import pytest

import narrows


@pytest.fixture
def suspicious(scenario: narrows.Scenario) -> narrows.Scenario:
    """Nothing marks, though the control reads marks."""
    return scenario.with_set({"switches.tor.marking": "off"})


def test_a_check_warns_its_caller_and_lists_the_warning(suspicious: narrows.Scenario) -> None:
    with pytest.warns(narrows.NarrowsWarning, match=r"^N0109: ") as caught:
        check = suspicious.check()
    assert [found.code for found in check.warnings] == ["N0109"]
    (warning,) = caught
    assert warning.filename == __file__
    assert isinstance(warning.message, narrows.NarrowsWarning)
    assert warning.message.diagnostic == check.warnings[0]


def test_a_run_warns_its_caller_and_its_results_keep_the_warning(suspicious: narrows.Scenario, tmp_path: Path) -> None:
    with pytest.warns(narrows.NarrowsWarning, match=r"^N0109: ") as caught:
        results = narrows.run(suspicious, seed=3)
    # The short run also draws another load.
    assert [warning.filename for warning in caught] == [__file__, __file__]
    assert [found.code for found in results.warnings] == ["N0109", "N0212"]
    results.save(tmp_path / "stored")
    stored = narrows.Results.load(tmp_path / "stored").warnings
    assert [(found.code, found.message) for found in stored] == [(w.code, w.message) for w in results.warnings]


def test_a_sweep_warns_its_caller_once_of_what_all_points_have(suspicious: narrows.Scenario, tmp_path: Path) -> None:
    grid = {"traffic.search.pattern.poisson.load": [0.1, 0.2]}
    with pytest.warns(narrows.NarrowsWarning, match=r"^N0109: ") as caught:
        narrows.sweep(grid, scenario=suspicious, out=tmp_path / "out")
    assert [warning.filename for warning in caught] == [__file__]
    assert "at the point traffic.search.pattern.poisson.load = 0.1" in str(caught[0].message)


def test_a_filter_makes_a_warning_an_exception_before_anything_runs(
    suspicious: narrows.Scenario, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", narrows.NarrowsWarning)
        with pytest.raises(narrows.NarrowsWarning):
            narrows.run(suspicious)
        with pytest.raises(narrows.NarrowsWarning):
            narrows.sweep({"stop.after": ["6 ms"]}, scenario=suspicious, out=tmp_path / "out")
    assert not list(tmp_path.glob("out/cells/*"))


def test_windows_that_are_left_out_are_told_with_the_key_that_keeps_them(scenario: narrows.Scenario) -> None:
    scenario["record.windows"] = {"interval": "100 us"}
    with pytest.warns(narrows.NarrowsWarning, match=r"^N0181: .* first 8 flows.*\n.*record\.windows\.flows"):
        scenario.check()


def test_nothing_suspicious_is_nothing_to_tell(scenario: narrows.Scenario) -> None:
    scenario["traffic.search.pattern"] = {"permutation": {"size": "10 kB"}}
    scenario["measure.from"] = "0 s"
    assert narrows.run(scenario).warnings == []
