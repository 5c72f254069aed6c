"""Scenarios: the same keys and the same diagnostics as in files."""

import copy
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import narrows


def test_a_file_gives_the_scenario_it_holds(tmp_path: Path) -> None:
    template = narrows.Scenario.template("dumbbell")
    path = tmp_path / "d.toml"
    path.write_text(template.to_toml())
    assert narrows.Scenario.load(path).to_toml() == template.to_toml()
    assert narrows.Scenario.load(str(path)).folder == tmp_path


def test_a_file_that_is_not_there_is_told_from_a_built_in_one() -> None:
    with pytest.raises(narrows.Error, match=r'Scenario\.template\("dumbbell"\)'):
        narrows.Scenario.load("dumbbell")
    with pytest.raises(narrows.Error, match="did you mean"):
        narrows.Scenario.template("dumbell")


def test_values_are_read_by_key_number_and_name_those_left_out_included(scenario: narrows.Scenario) -> None:
    assert scenario["traffic.search.cc"] == {"dctcp": {"gain": 0.0625, "initial_alpha": 1.0, "min_window": 2}}
    assert scenario["traffic.0.name"] == "search"
    assert scenario["topology.leaf_spine.racks"] == 2
    with pytest.raises(KeyError, match="trafic"):
        scenario["trafic"]


def test_a_change_is_seen_in_the_text_and_by_nobody_else(scenario: narrows.Scenario) -> None:
    other = scenario.copy()
    other["traffic.search.cc"] = {"cubic": {"beta": 0.8}}
    assert other["traffic.search.cc"]["cubic"]["beta"] == 0.8
    assert "cubic" in other.to_toml()
    assert "dctcp" in scenario["traffic.search.cc"]
    assert copy.deepcopy(other).to_toml() == copy.copy(other).to_toml() == other.to_toml()


def test_several_changes_are_made_together_or_not_at_all(scenario: narrows.Scenario) -> None:
    before = scenario.to_toml()
    with pytest.raises(narrows.Error, match="stpo"):
        scenario.set({"stop.after": "3 ms", "stpo.after": "4 ms"})
    assert scenario.to_toml() == before
    scenario.set(["stop.after=3 ms", "seed=9"])
    assert (scenario["stop.after"], scenario.seed) == ("3 ms", 9)


@pytest.mark.parametrize(
    ("path", "value", "code", "found"),
    [
        ("traffic.search.cc", {"cubik": {}}, "N0005", 'did you mean "cubic"'),
        ("trafic.search.cc", {"cubic": {}}, "N0002", 'did you mean "traffic"'),
        ("traffic.search.cc.dctcp.gian", 0.5, "N0002", 'did you mean "gain"'),
        ("stop.after", "5 parsecs", "N0004", "unit"),
        ("seed", "many", "N0003", "whole number"),
        ("traffic.nobody.cc", {"cubic": {}}, "N0020", "nobody"),
    ],
)
def test_mistakes_are_told_as_the_command_tells_them(
    scenario: narrows.Scenario, path: str, value: object, code: str, found: str
) -> None:
    with pytest.raises(narrows.Error) as caught:
        scenario[path] = value
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert found in str(caught.value).replace("\n        ", " ")
    assert diagnostic.severity == "error"


def test_what_makes_no_sense_as_a_whole_is_found_by_check(scenario: narrows.Scenario) -> None:
    scenario["traffic.search.cc"] = {"dctcp": {"gain": 7.0}}
    with pytest.raises(narrows.Error, match="gain = 7"):
        scenario.check()
    with pytest.raises(narrows.Error, match="gain = 7"):
        narrows.run(scenario)


def test_check_tells_what_a_scenario_comes_to_and_what_is_suspicious(scenario: narrows.Scenario) -> None:
    scenario["switches.tor.marking"] = "off"
    with pytest.warns(narrows.NarrowsWarning):
        check = scenario.check()
    assert "8 hosts" in repr(check)
    assert check.memory_bytes > 0
    assert [warning.code for warning in check.warnings] == ["N0109"]


def test_a_dict_is_a_scenario() -> None:
    content = {
        "version": 1,
        "name": "tiny",
        "stop": {"after": "2 ms"},
        "topology": narrows.Scenario.template("dumbbell")["topology"],
        "traffic": [{"name": "web", "pattern": {"long_lived": {"flows": 2}}, "cc": {"reno": {}}}],
    }
    assert narrows.run(content).seed == 1
    content["stop"] = {"afterwards": "2 ms"}
    with pytest.raises(narrows.Error, match="afterwards"):
        narrows.Scenario(content)


@pytest.mark.parametrize("value", [object(), {1: 2}, 1 << 70, b"bytes", {"a": {"b": None}}])
def test_values_that_scenarios_do_not_have_are_refused(scenario: narrows.Scenario, value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        scenario["traffic.search.cc"] = value


def test_values_nested_without_end_are_refused(scenario: narrows.Scenario) -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested"):
        scenario["record"] = endless


def test_numbers_of_numpy_are_numbers(scenario: narrows.Scenario) -> None:
    import numpy as np

    scenario["seed"] = np.int64(5)
    scenario["traffic.search.cc"] = {"dctcp": {"gain": np.float64(0.25)}}
    assert (scenario.seed, scenario["traffic.search.cc.dctcp.gain"]) == (5, 0.25)


def test_arrays_of_numpy_are_lists(scenario: narrows.Scenario) -> None:
    import numpy as np

    scenario["seed"] = np.array(5)
    assert scenario.seed == 5
    with pytest.raises(narrows.Error, match="array"):
        scenario["seed"] = np.array([1, 2])


def test_scenarios_and_their_mistakes_can_be_pickled(scenario: narrows.Scenario) -> None:
    assert pickle.loads(pickle.dumps(scenario)).to_toml() == scenario.to_toml()
    with pytest.raises(narrows.Error) as caught:
        scenario["seed"] = -1
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert again.diagnostics == caught.value.diagnostics


@given(st.text(max_size=40), st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=8), st.lists))
def test_nothing_that_is_typed_panics(path: str, value: object) -> None:
    scenario = narrows.Scenario.template("dumbbell")
    try:
        scenario[path] = value
    except (narrows.Error, TypeError, ValueError):
        assert scenario.to_toml() == narrows.Scenario.template("dumbbell").to_toml()
