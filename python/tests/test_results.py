"""Results as other libraries see them."""

import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import small_scenario

import narrows


def test_numbers_are_handed_over_without_a_copy(results: narrows.Results) -> None:
    flows = results.flows
    address = flows["start_ps"].__array_interface__["data"][0]
    assert np.asarray(flows["start_ps"]).ctypes.data == address
    assert pa.table(flows)["start_ps"].chunk(0).buffers()[1].address == address
    assert pa.array(flows["start_ps"]).buffers()[1].address == address


def test_arrays_outlive_their_table(results: narrows.Results) -> None:
    start = np.asarray(results.flows["start_ps"])
    assert start.tolist() == results.flows["start_ps"].to_list()
    with pytest.raises(ValueError, match="read-only"):
        start[0] = 1


def test_all_libraries_see_the_same(results: narrows.Results) -> None:
    flows = results.flows
    arrow = flows.to_pyarrow()
    assert flows.to_polars().equals(pl.DataFrame(flows))
    assert flows.to_polars()["fct_ps"].to_list() == arrow["fct_ps"].to_pylist() == flows["fct_ps"].to_list()
    pd.testing.assert_frame_equal(flows.to_pandas(), arrow.to_pandas(), check_dtype=False, check_categorical=False)
    assert flows.to_pandas()["src"].tolist() == flows["src"].to_list() == arrow["src"].to_pylist()
    (row,) = duckdb.sql("select count(*), sum(size_bytes) from flows").fetchall()
    assert row == (len(flows), flows["size_bytes"].to_numpy().sum())
    arrays = flows.to_numpy()
    assert set(arrays) == set(flows.column_names) == set(arrow.column_names)
    assert arrays["group"].tolist() == arrow["group"].to_pylist()


def test_missing_values_are_none_null_and_nan(scenario: narrows.Scenario) -> None:
    unfinished = narrows.run(
        scenario, set={"stop": {"after": "6 ms"}, "traffic.search.pattern.poisson.load": 0.9}
    ).flows["fct_ps"]
    values = unfinished.to_list()
    assert None in values
    assert [value is None for value in values] == np.isnan(unfinished.to_numpy()).tolist()
    assert pa.array(unfinished).null_count == values.count(None)


def test_columns_say_what_they_mean(results: narrows.Results) -> None:
    column = results.flows["fct_ps"]
    assert column.unit == "ps"
    assert column.meaning.startswith("Flow completion time")
    assert pa.table(results.flows).schema.field("fct_ps").metadata[b"unit"] == b"ps"


def test_unknown_names_are_met_with_the_nearest(results: narrows.Results) -> None:
    with pytest.raises(KeyError, match="did you mean"):
        results.flows["fct"]
    with pytest.raises(narrows.Error, match='did you mean "flows"'):
        results.table("flow")
    with pytest.raises(narrows.Error, match="there are: flows"):
        results.table("limiters")


def test_tables_are_the_files_that_the_command_writes(results: narrows.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "out")
    for name in results.table_names:
        file = pq.read_table(tmp_path / "out" / f"{name}.parquet")
        table = pa.table(results.table(name))
        assert file.column_names == table.column_names
        for column in file.column_names:
            assert file[column].to_pylist() == table[column].to_pylist()
    with pytest.raises(narrows.Error, match="overwrite=True"):
        results.save(tmp_path / "out")
    results.save(tmp_path / "out", overwrite=True)


def test_a_folder_with_other_things_in_it_is_not_replaced(results: narrows.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    before = sorted(path.name for path in (tmp_path / "out").iterdir())
    with pytest.raises(narrows.Error, match="N0123") as raised:
        results.save(tmp_path / "out", overwrite=True)
    assert raised.value.diagnostics[0].message.endswith("notes.txt")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == before
    with pytest.raises(narrows.Error, match="N0015"):
        results.report(tmp_path / "out", overwrite=True)


def test_stored_results_are_the_results(results: narrows.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "out")
    stored = narrows.Results.load(tmp_path / "out")
    assert stored.summary == results.summary
    assert stored.activity == results.activity
    assert stored.info == results.info
    assert stored.scenario == results.scenario
    assert stored.table_names == results.table_names
    assert pa.table(stored.flows).to_pylist() == pa.table(results.flows).to_pylist()
    assert stored.flows.to_polars().schema == results.flows.to_polars().schema
    assert repr(stored) == repr(results)
    with pytest.raises(narrows.Error, match="a folder already"):
        stored.save(tmp_path / "other")
    with pytest.raises(narrows.Error, match="not a folder"):
        narrows.Results.load(tmp_path / "nowhere")


def test_saved_results_hold_the_files_that_were_run(tmp_path: Path) -> None:
    trace = tmp_path / "flows.csv"
    trace.write_text("start,src,dst,bytes\n0 us,rack0/host0,rack1/host0,50 kB\n")
    (tmp_path / "s.toml").write_text(
        small_scenario().with_set({"traffic.search.pattern": {"trace": {"file": "flows.csv"}}}).to_toml()
    )
    scenario = narrows.Scenario.load(tmp_path / "s.toml")
    results = narrows.run(scenario)
    was = trace.read_text()
    trace.write_text(was + "1 us,rack0/host1,rack1/host0,50 kB\n")
    assert len(narrows.run(scenario).flows) == 2, "a file is read for each run"
    results.save(tmp_path / "out")
    trace.unlink()
    assert (tmp_path / "out/inputs/flows.csv").read_text() == was
    (tmp_path / "out").rename(tmp_path / "moved")
    again = narrows.run(tmp_path / "moved/scenario.toml")
    assert again.scenario == results.scenario
    assert again.flows.to_polars().equals(results.flows.to_polars())


def test_a_summary_is_shown_as_text_and_as_a_table_of_a_notebook(results: narrows.Results) -> None:
    assert "slowdown p99" in repr(results)
    html = results._repr_html_()
    assert html.startswith("<table>")
    assert "slowdown p99" in html


def test_a_report_is_written_as_a_whole_or_not_at_all(results: narrows.Results, tmp_path: Path) -> None:
    results.report(tmp_path / "report.html")
    assert "<html" in (tmp_path / "report.html").read_text()
    with pytest.raises(narrows.Error, match="exists"):
        results.report(tmp_path / "report.html")
    with pytest.raises(narrows.Error):
        results.report(Path("/dev/null/report.html"))


def test_intervals_are_those_of_student_of_logarithms() -> None:
    # The logarithms of 1, 2, 4 to base 2 are 0, 1, 2: half the width is t(0.975, 2) / √3 = 2.4841.
    mean, bounds = narrows.interval([1.0, 2.0, 4.0]) or (0, None)
    assert mean == pytest.approx(2)
    assert bounds == pytest.approx((2 ** (1 - 2.4841), 2 ** (1 + 2.4841)), rel=1e-3)
    assert narrows.interval([1.0]) == (1.0, None)
    assert narrows.interval([1.0, 4.0]) == (pytest.approx(2), None)
    assert narrows.interval([0.0, 1.0, 2.0]) == (1.0, None)
    assert narrows.interval([]) is None


def test_the_interval_of_a_metric_ends_at_what_it_can_be() -> None:
    values = [1.1, 1.6, 1.05]
    _, free = narrows.interval(values) or (0, None)
    _, bound = narrows.interval(values, "dc.p99_slowdown") or (0, None)
    assert free is not None and bound is not None
    assert free[0] < 1 and bound == (1, free[1])


def test_runs_of_different_scenarios_are_not_pooled_as_seeds(results: narrows.Results) -> None:
    from narrows._narrows import comparison_text, distributions

    other = narrows.run(small_scenario(), set={"traffic.search.cc": {"cubic": {}}})
    with pytest.raises(ValueError, match="not seeds of one scenario"):
        distributions([results, other])
    with pytest.raises(ValueError, match="both: these runs are not seeds"):
        comparison_text([("both", [results, other])])
    again = narrows.run(small_scenario(), seed=4)
    text = comparison_text([("one", [results, again]), ("other", [other])])
    assert "search" in text
    assert "differs: traffic.search.cc = { dctcp = {} } | { cubic = {} }" in text
    assert "other beside one: no seed in common: no ratios" in text


def test_a_frame_of_pandas_needs_no_pyarrow(results: narrows.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert len(results.flows.to_pandas()) == len(results.flows)
