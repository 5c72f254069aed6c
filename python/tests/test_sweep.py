"""Sweeps: the same cells and the same bytes wherever they are run."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from conftest import small_scenario

import narrows

GRID: dict[str, Any] = {
    "traffic.search.pattern.poisson.load": [0.2, 0.5],
    "control": {"dctcp": {"traffic.search.cc": {"dctcp": {}}}, "cubic": {"traffic.search.cc": {"cubic": {}}}},
}


def tree(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> narrows.SweepResults:
    return narrows.sweep(GRID, scenario=small_scenario(), seeds=3, out=tmp_path_factory.mktemp("sweep") / "local")


def test_a_grid_has_a_point_for_each_combination(found: narrows.SweepResults) -> None:
    assert found.axes == {"traffic.search.pattern.poisson.load": [0.2, 0.5], "control": ["dctcp", "cubic"]}
    assert [tuple(point.values.values()) for point in found] == [
        (0.2, "dctcp"),
        (0.2, "cubic"),
        (0.5, "dctcp"),
        (0.5, "cubic"),
    ]
    assert found.tally == {"cells": 12, "found": 0, "run": 12}


def test_a_point_has_the_means_of_its_runs(found: narrows.SweepResults) -> None:
    runs = found.runs(load=0.5, control="cubic")
    assert [run.seed for run in runs] == [1, 2, 3]
    values = [run.summary["search.p50_fct_us"] for run in runs]
    mean, bounds = narrows.interval([value for value in values if value is not None]) or (0, None)
    estimate = found.metric("search.p50_fct_us", load=0.5, control="cubic")
    assert (estimate.mean, estimate.interval, estimate.samples) == (mean, bounds, 3)
    assert (estimate.low, estimate.high) == bounds
    assert estimate.low < estimate.mean < estimate.high
    assert estimate.range == (min(values), max(values))


def test_a_sweep_is_loaded_from_its_folder(found: narrows.SweepResults, tmp_path: Path) -> None:
    again = narrows.load_sweep(found.folder)
    assert again.axes == found.axes and again.tally == {"cells": 12, "found": 12, "run": 0}
    assert again.estimates() == found.estimates()
    assert [point.cells for point in again] == [point.cells for point in found]
    assert again.runs(load=0.2, control="cubic")[0].seed == 1
    with pytest.raises(narrows.Error, match="holds no sweep"):
        narrows.load_sweep(tmp_path)


def test_estimates_are_columns_with_a_row_for_each_point_and_metric(found: narrows.SweepResults) -> None:
    columns = found.estimates("p50_fct_us")
    assert list(columns) == [*found.axes, "metric", "mean", "low", "high", "least", "most", "seeds", "marks"]
    rows = list(zip(*columns.values(), strict=True))
    assert len(rows) == 8 and set(columns["metric"]) == {"search.p50_fct_us", "total.p50_fct_us"}
    of = found.metric("search.p50_fct_us", load=0.2, control="cubic")
    marks = found.select(load=0.2, control="cubic")[0].marks.get("search.p50_fct_us", "")
    assert (0.2, "cubic", "search.p50_fct_us", of.mean, of.low, of.high, *of.range, 3, marks) in rows
    with pytest.raises(ValueError, match="no metric is called"):
        found.estimates("p50_fct")


def test_estimates_become_frames_of_pandas_and_polars(found: narrows.SweepResults) -> None:
    frame = found.to_polars("search.*")
    assert frame.filter(pl.col("metric") == "search.p50_fct_us")["seeds"].to_list() == [3, 3, 3, 3]
    same = found.to_pandas("search.*")
    assert same["metric"].tolist() == frame["metric"].to_list() and len(same) == len(frame)


def test_a_cell_is_the_run_of_its_scenario(found: narrows.SweepResults) -> None:
    cell = found.runs(load=0.2, control="cubic")[1]
    alone = narrows.run(
        small_scenario(),
        seed=2,
        set={"traffic.search.pattern.poisson.load": 0.2, "traffic.search.cc": {"cubic": {}}},
    )
    assert cell.summary == alone.summary
    assert cell.flows.to_polars().equals(alone.flows.to_polars())


def test_the_data_set_has_all_cells(found: narrows.SweepResults) -> None:
    summary = pl.read_parquet(found.table())
    assert summary.height == 12
    assert summary["seed"].to_list() == [1, 2, 3] * 4
    assert summary["traffic.search.pattern.poisson.load"].to_list() == [0.2] * 6 + [0.5] * 6
    flows = pl.read_parquet(found.table("flows"))
    assert flows["cell"].n_unique() == 12
    assert flows.height == sum(len(run.flows) for run in found.runs())
    with pytest.raises(narrows.Error, match="it has: flows, links"):
        found.table("limiters")


@pytest.fixture(params=["threads", "processes", "one by one"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    class OneByOne(Executor):
        """The smallest executor there can be."""

        def submit(self, fn: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            future: Future[Any] = Future()
            try:
                future.set_result(fn(*arguments, **options))
            except Exception as error:
                future.set_exception(error)
            return future

    kinds = {"threads": lambda: ThreadPoolExecutor(2), "processes": lambda: ProcessPoolExecutor(2)}
    with kinds.get(request.param, OneByOne)() as executor:
        yield executor


def test_every_executor_gives_the_same_bytes(found: narrows.SweepResults, executor: Executor, tmp_path: Path) -> None:
    again = narrows.sweep(GRID, scenario=small_scenario(), seeds=3, out=tmp_path / "other", executor=executor)
    assert again.tally == found.tally
    assert tree(tmp_path / "other") == tree(found.folder)


def test_what_is_there_is_not_run_again(found: narrows.SweepResults, tmp_path: Path) -> None:
    scenario, out = small_scenario(), tmp_path / "grows"
    narrows.sweep(GRID, scenario=scenario, seeds=1, out=out)
    more = narrows.sweep(GRID, scenario=scenario, seeds=3, out=out)
    assert more.tally == {"cells": 12, "found": 4, "run": 8}
    assert tree(out) == tree(found.folder)
    same = narrows.sweep(GRID, scenario=scenario, seeds=3, out=out)
    assert same.tally["run"] == 0


def test_a_cell_that_lost_a_file_is_run_again(found: narrows.SweepResults, tmp_path: Path) -> None:
    out = tmp_path / "damaged"
    first = narrows.sweep(GRID, scenario=small_scenario(), seeds=3, out=out)
    (out / "cells" / first.points[0].cells[0] / "flows.parquet").unlink()
    with pytest.warns(UserWarning, match=r"1 cell is damaged and run again: \w{32} \(flows\.parquet\)"):
        again = narrows.sweep(GRID, scenario=small_scenario(), seeds=3, out=out)
    assert again.tally["run"] == 1
    assert tree(out) == tree(found.folder)


def test_a_cell_with_a_flipped_bit_is_run_again(found: narrows.SweepResults, tmp_path: Path) -> None:
    out = tmp_path / "flipped"
    first = narrows.sweep(GRID, scenario=small_scenario(), seeds=3, out=out)
    summary = out / "cells" / first.points[1].cells[2] / "run.json"
    content = bytearray(summary.read_bytes())
    content[len(content) // 2] ^= 1
    summary.write_bytes(content)
    with pytest.warns(UserWarning, match=r"\(run\.json\)"), ThreadPoolExecutor(1) as executor:
        again = narrows.sweep(GRID, scenario=small_scenario(), seeds=3, out=out, executor=executor)
    assert again.tally["run"] == 1
    assert tree(out) == tree(found.folder)


def test_a_sweep_file_gives_the_same_sweep(found: narrows.SweepResults, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(small_scenario().to_toml())
    (tmp_path / "sweep.toml").write_text(
        """
        name = "small"
        scenario = "small.toml"
        seeds = 3
        [grid]
        "traffic.search.pattern.poisson.load" = [0.2, 0.5]
        [grid.control]
        dctcp = { "traffic.search.cc" = { dctcp = {} } }
        cubic = { "traffic.search.cc" = { cubic = {} } }
        """
    )
    same = narrows.sweep(tmp_path / "sweep.toml", out=tmp_path / "out")
    one, other = (tree(sweep.folder) for sweep in (same, found))
    # A scenario that was changed in Python says how; that of the file has the changes in it.
    manifests = [json.loads(files.pop("sweep.json")) for files in (one, other)]
    for manifest in manifests:
        del manifest["written"]
    assert manifests[0] == manifests[1] and one == other
    with pytest.raises(TypeError, match="says the scenario itself"):
        narrows.sweep(tmp_path / "sweep.toml", scenario=small_scenario())


def test_seeds_are_added_until_a_metric_is_known_well_enough(tmp_path: Path) -> None:
    until = {"metric": "search.goodput_gbps", "half_width": 0.5, "most": 12}
    load = {"traffic.search.pattern.poisson.load": [0.3, 0.6]}
    one = narrows.sweep(load, scenario=small_scenario(), until=until, out=tmp_path / "a", jobs=1)
    with ThreadPoolExecutor(3) as executor:
        two = narrows.sweep(load, scenario=small_scenario(), until=until, out=tmp_path / "b", executor=executor)
    assert [len(point.cells) for point in one] == [len(point.cells) for point in two]
    for name in ("summary", "flows"):
        assert one.table(name).read_bytes() == two.table(name).read_bytes()
    for point in one:
        estimate = one.estimate(point, "search.goodput_gbps")
        assert estimate is not None
        low, high = estimate.interval or (0, float("inf"))
        assert len(point.cells) == 12 or (high - low) / 2 <= 0.5 * estimate.mean


@pytest.mark.parametrize(
    ("grid", "options", "found"),
    [
        ({"traffic.serach.cc": [1]}, {}, 'did you mean "search"'),
        ({"traffic.search.cc.dctcp.gian": [0.1]}, {}, 'did you mean "gain"'),
        ({"stop.after": []}, {}, "no values"),
        ({"stop.after": ["1 ms", "1 ms"]}, {}, "twice"),
        ({"stop.after": ["1 ms"]}, {"seeds": 0}, "seeds = 0"),
        ({"stop.after": [f"{n} us" for n in range(1, 2001)]}, {"seeds": 6}, "yes=True"),
        ({}, {"until": {"metric": "search.p99", "half_width": 0.1, "most": 9}}, "did you mean|known:"),
    ],
)
def test_mistakes_are_told_before_anything_is_run(
    grid: dict[str, Any], options: dict[str, Any], found: str, tmp_path: Path
) -> None:
    with pytest.raises(narrows.Error, match=found):
        narrows.sweep(grid, scenario=small_scenario(), out=tmp_path / "out", **options)
    assert not (tmp_path / "out" / "cells").exists() or not any((tmp_path / "out" / "cells").iterdir())


def test_calls_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="needs a scenario"):
        narrows.sweep({"seed": [1]})
    with pytest.raises(ValueError, match="exclude each other"):
        narrows.sweep({}, scenario=small_scenario(), executor=ThreadPoolExecutor(1), client="tcp://x")
    with pytest.raises(ValueError, match="until"):
        narrows.sweep({}, scenario=small_scenario(), until={"metrik": "x"})


def test_unknown_axes_values_and_metrics_are_told(found: narrows.SweepResults) -> None:
    with pytest.raises(ValueError, match="no axis"):
        found.select(speed=1)
    with pytest.raises(ValueError, match=r"it has 0\.2, 0\.5"):
        found.select(load=0.3)
    with pytest.raises(ValueError, match="did you mean"):
        found.metric("search.p99_slowdwn", load=0.2, control="cubic")
    with pytest.raises(ValueError, match="2 points"):
        found.metric("search.p99_slowdown", load=0.2)


def test_a_sweep_is_shown_in_a_notebook(found: narrows.SweepResults) -> None:
    html = found._repr_html_()
    assert html.count("<tr>") == 5
    words = re.sub("<[^>]*>", " ", html).split()
    assert {"group", "search", "p99_slowdown", "goodput_gbps", "unfinished"} <= set(words)


def test_percentiles_of_few_flows_are_marked_in_tables_and_among_estimates(found: narrows.SweepResults) -> None:
    assert all("‡" in mark for mark in found.estimates("search.p99_slowdown")["marks"])
    assert found.points[0].marks["search.p99_slowdown"].endswith("‡")
    html = found._repr_html_()
    assert "‡ [" in html and html.endswith("<div>‡ of fewer flows than this percentile needs (N0211)</div>")


def test_fewer_than_three_seeds_have_values_and_no_interval(tmp_path: Path) -> None:
    two = narrows.sweep({}, scenario=small_scenario(), seeds=2, out=tmp_path / "two")
    estimate = two.metric("search.p50_fct_us")
    values = [run.summary["search.p50_fct_us"] for run in two.runs()]
    assert (estimate.interval, estimate.low, estimate.high) == (None, None, None)
    assert estimate.range == (min(values), max(values))
    assert " to " in repr(estimate)


def test_a_group_that_starves_is_seen_in_the_table_and_in_plots(tmp_path: Path) -> None:
    from narrows import plots

    scenario = small_scenario()
    # Too late for a round trip.
    pattern = {"long_lived": {"flows": 1, "from": "rack0/host0", "to": "rack1/host0"}}
    dead = {"name": "dead", "cc": {"reno": {}}, "start": "5.999 ms", "pattern": pattern}
    poisson = {"poisson": {"load": 0.2, "of": "host_links", "sizes": "websearch"}}
    scenario.set({"traffic": [{"name": "search", "cc": {"dctcp": {}}, "pattern": poisson}, dead]})
    loads = {"traffic.search.pattern.poisson.load": [0.2, 0.4]}
    found = narrows.sweep(loads, scenario=scenario, out=tmp_path / "out")
    html = found._repr_html_()
    assert html.count("<td>dead</td>") == 2
    assert html.count("<td>total</td>") == 2
    ax = plots.sweep(found, x="load", y="goodput_gbps")
    assert [line.get_label() for line in ax.get_lines()] == ["search", "dead"]
    assert ax.get_lines()[1].get_ydata().tolist() == [0, 0]


def test_labels_of_a_text_axis_do_not_overlap(tmp_path: Path) -> None:
    from narrows import plots

    names = [f"a rather long name of an option {number}" for number in range(6)]
    options = {name: {"stop.after": f"{number + 2} ms"} for number, name in enumerate(names)}
    found = narrows.sweep({"option": options}, scenario=small_scenario(), out=tmp_path / "out")
    ax = plots.sweep(found, x="option", y="search.goodput_gbps")
    assert not plots._overlap(ax)
    assert all(label.get_rotation() for label in ax.get_xticklabels())
    few = plots.sweep(found, x="option", y="search.goodput_gbps", ax=None)
    few.set_xticklabels([*"abcdef"], rotation=0)
    assert not plots._overlap(few)


class Broken(Executor):
    """An executor whose workers fail."""

    def __init__(self, error: Exception, after: int) -> None:
        self.left, self.error = after, error

    def submit(self, fn: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.left:
            self.left -= 1
            future.set_result(fn(*arguments, **options))
        else:
            future.set_exception(self.error)
        return future


def test_cells_that_fail_are_told_and_others_are_kept(found: narrows.SweepResults, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(narrows.Error, match=r"7 cells could not be run:\n.*seed.*worker lost its mind"):
        broken = Broken(OSError("worker lost its mind"), after=5)
        narrows.sweep(GRID, scenario=small_scenario(), seeds=3, out=out, executor=broken)
    assert len(list((out / "cells").iterdir())) == 5
    rest = narrows.sweep(GRID, scenario=small_scenario(), seeds=3, out=out)
    assert rest.tally == {"cells": 12, "found": 5, "run": 7}
    assert tree(out) == tree(found.folder)


def test_cells_that_fail_are_tried_again_if_that_is_wanted(tmp_path: Path) -> None:
    class Flaky(Broken):
        """Fails each cell once."""

        seen: ClassVar[set[str]] = set()

        def submit(self, fn: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            known = arguments[0] in self.seen
            self.seen.add(arguments[0])
            return Broken(self.error, after=int(known)).submit(fn, *arguments, **options)

    again = narrows.sweep(
        {"stop.after": ["3 ms", "4 ms"]},
        scenario=small_scenario(),
        out=tmp_path / "out",
        executor=Flaky(OSError("not now"), after=0),
        retries=1,
    )
    assert again.tally["run"] == 2


def test_an_executor_that_is_broken_ends_the_sweep(tmp_path: Path) -> None:
    from concurrent.futures.process import BrokenProcessPool

    with pytest.raises(narrows.Error, match="executor is broken"):
        executor = Broken(BrokenProcessPool("a process died"), after=1)
        narrows.sweep(GRID, scenario=small_scenario(), out=tmp_path / "out", executor=executor)
    assert len(list((tmp_path / "out" / "cells").iterdir())) == 1


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(narrows.Error, match=r"no folder of a[\s│]+sweep"):
        narrows.sweep({}, scenario=small_scenario(), out=tmp_path)


def test_files_that_scenarios_name_go_with_their_cells(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("start,src,dst,bytes\n0 us,rack0/host0,rack1/host0,50 kB\n")
    scenario = small_scenario()
    text = scenario.with_set({"traffic.search.pattern": {"trace": {"file": "flows.csv"}}}).to_toml()
    (tmp_path / "s.toml").write_text(text)
    with ProcessPoolExecutor(1) as executor:
        far = narrows.sweep({}, scenario=tmp_path / "s.toml", out=tmp_path / "far", executor=executor)
    near = narrows.sweep({}, scenario=tmp_path / "s.toml", out=tmp_path / "near")
    assert tree(far.folder) == tree(near.folder)
    (tmp_path / "flows.csv").write_text("start,src,dst,bytes\n0 us,rack0/host0,rack1/host0,60 kB\n")
    with pytest.warns(UserWarning, match=r"flows\.csv has changed since the sweep began"):
        other = narrows.sweep({}, scenario=tmp_path / "s.toml", out=tmp_path / "near")
    assert other.tally["run"] == 1
    (tmp_path / "flows.csv").unlink()
    same = narrows.sweep({}, scenario=tmp_path / "s.toml", out=tmp_path / "near")
    assert same.tally["run"] == 0


def test_a_sweep_has_a_page_of_its_own(found: narrows.SweepResults, tmp_path: Path) -> None:
    metric = ["p99_slowdown", "*.goodput_gbps"]
    page = found.report(tmp_path / "page.html", metric=metric, by="control")
    text = page.read_text()
    assert page == tmp_path / "page.html"
    assert '"by":"control"' in text and "slowdown p99" in text and "goodput, Gb/s" in text
    same = narrows.report(found.folder, out=tmp_path / "same.html", metric=metric, by="control")
    assert same.read_bytes() == page.read_bytes()
    with pytest.raises(narrows.Error, match=r'no metric "p99_slwodown"[\s\S]*did you mean "p99_slowdown"'):
        found.report(tmp_path / "other.html", metric="p99_slwodown")
    with pytest.raises(narrows.Error, match='no axis "laod"'):
        found.report(tmp_path / "other.html", by="laod")
    assert not (tmp_path / "other.html").exists()


def test_a_plot_of_a_sweep_has_a_line_for_each_value(found: narrows.SweepResults) -> None:
    from narrows import plots

    ax = plots.sweep(found, x="load", y="search.p50_fct_us", by="control")
    assert [line.get_label() for line in ax.get_lines()] == ["dctcp", "cubic"]
    for line in ax.get_lines():
        drawn = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        for load in (0.2, 0.5):
            control = str(line.get_label())
            assert drawn[load] == found.metric("search.p50_fct_us", load=load, control=control).mean
    ax = plots.sweep(found, x="control", y="search.goodput_gbps", where={"load": 0.5})
    assert [label.get_text() for label in ax.get_xticklabels()] == ["dctcp", "cubic"]
    with pytest.raises(ValueError, match="say which value of control"):
        plots.sweep(found, x="load", y="search.p50_fct_us")
