"""Plots draw what was measured."""

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import small_scenario
from matplotlib.axes import Axes

import narrows
from narrows import plots


@pytest.fixture(autouse=True)
def closed() -> object:
    yield
    plt.close("all")


def test_a_distribution_ends_with_all_flows(cells: dict[str, list[narrows.Results]]) -> None:
    ax = plots.cdf(cells)
    assert [line.get_label() for line in ax.get_lines()] == ["dctcp", "cubic"]
    for line in ax.get_lines():
        assert line.get_ydata()[-1] == 1
        assert np.all(np.diff(line.get_xdata()) > 0)


def test_a_distribution_of_one_run_is_that_of_its_flows(results: narrows.Results) -> None:
    (line,) = plots.cdf(results).get_lines()
    flows = results.flows
    counts = flows["measured"].to_numpy() & ~np.isnan(flows["fct_ps"].to_numpy())
    longest = flows["fct_ps"].to_numpy()[counts].max()
    assert line.get_xdata()[-1] == pytest.approx(longest / 1e9)


def test_slowdown_is_at_least_one(cells: dict[str, list[narrows.Results]]) -> None:
    for percentile in (50, 99):
        ax = plots.slowdown(cells, percentile=percentile)
        assert all((line.get_ydata() >= 1).all() for line in ax.get_lines())
    one = narrows.run(small_scenario(), set={"stop.after": "2 ms"})
    with pytest.raises(ValueError, match="too few flows"):
        plots.slowdown(one)
    with pytest.raises(ValueError, match="percentile = 95"):
        plots.slowdown(cells, percentile=95)


def test_the_deepest_queue_is_among_those_drawn(results: narrows.Results) -> None:
    ax = plots.queues(results)
    deepest = results.table("queues")["max_backlog_bytes"].to_numpy().max() / 1e3
    assert max(line.get_ydata().max() for line in ax.get_lines()) == deepest


def test_rates_add_up_to_what_links_carried(results: narrows.Results) -> None:
    ax = plots.rates(results, links="*")
    interval = results.info["recorded"]["links_interval_ps"]
    drawn = sum(line.get_ydata().sum() for line in ax.get_lines()) * interval / 1e3 / 8
    assert drawn == pytest.approx(results.table("links")["bytes"].to_numpy().sum())


def test_windows_are_those_of_flows(results: narrows.Results) -> None:
    table = results.table("windows")
    flow = int(table["flow"].to_list()[0])
    (line,) = plots.windows(results, flows=[flow]).get_lines()
    rows = table["flow"].to_numpy() == flow
    assert (line.get_ydata() * 1e3).round().tolist() == table["cwnd_bytes"].to_numpy()[rows].tolist()
    with pytest.raises(ValueError, match="was not recorded"):
        plots.windows(results, flows=[10**6])


def test_states_are_those_of_controls(results: narrows.Results) -> None:
    table = results.table("state")
    assert "alpha" in table["name"].to_list()
    names, flows = table["name"].to_numpy(), table["flow"].to_numpy()
    flow = int(flows[names == "alpha"][0])
    (line,) = plots.state(results, name="alpha", flows=[flow]).get_lines()
    alpha = table["value"].to_numpy()[(names == "alpha") & (flows == flow)]
    assert line.get_ydata().tolist() == alpha.tolist()
    assert 0 <= alpha.min() <= alpha.max() <= 1
    with pytest.raises(ValueError, match="beta was not recorded; recorded: alpha"):
        plots.state(results, name="beta")


def test_words_are_not_drawn(scenario: narrows.Scenario) -> None:
    bbr = narrows.run(scenario, set={"traffic.search.cc": {"bbr": {}}})
    assert "startup" in bbr.table("state")["word"].to_list()
    with pytest.raises(ValueError, match="mode is a word"):
        plots.state(bbr, name="mode")


def test_what_was_not_recorded_cannot_be_drawn(scenario: narrows.Scenario) -> None:
    bare = narrows.run(scenario, set={"record": {}})
    for draw in (plots.queues, plots.rates):
        with pytest.raises(narrows.Error, match="record"):
            draw(bare)
    with pytest.raises(narrows.Error, match="no table windows"):
        plots.windows(bare)


def test_unknown_groups_and_links_are_told(results: narrows.Results) -> None:
    with pytest.raises(ValueError, match="groups with flows that count: search"):
        plots.cdf(results, group="serach")
    with pytest.raises(ValueError, match="no recorded link is called"):
        plots.queues(results, ports="nowhere->*")


@pytest.mark.parametrize("draw", [plots.cdf, plots.slowdown])
def test_plots_go_where_they_are_asked_to_and_leave_the_style_alone(
    draw: Callable[..., Axes], cells: dict[str, list[narrows.Results]]
) -> None:
    before = dict(plt.rcParams)
    _, ax = plt.subplots()
    assert draw(cells, ax=ax) is ax
    assert dict(plt.rcParams) == before


def test_charts_of_a_paper_have_its_curves() -> None:
    reproduction = narrows.repro("bcn", quick=True, seeds=1)
    figure = next(figure for figure in reproduction.figures if figure["charts"])
    ax = plots.chart(figure)
    assert len(ax.get_lines()) == len(figure["charts"][0]["curves"])
    for line, curve in zip(ax.get_lines(), figure["charts"][0]["curves"], strict=True):
        assert line.get_label() == curve["label"]
    with pytest.raises(ValueError, match="there is no number 99"):
        plots.chart(figure, 99)


def test_what_was_measured_and_what_was_not_look_different() -> None:
    axis = {"label": "n", "log": False}
    curves = [
        {"label": label, "points": [[1, 2], [2, 3]], "color": 0, "origin": origin}
        for label, origin in (("QCN", "measured"), ("QCN, paper", "paper"), ("QCN, theory", "theory"))
    ]
    for style in ("lines", "points", "steps"):
        chart = {"title": "t", "x": axis, "y": axis, "style": style, "curves": curves}
        ax = plots.chart({"name": "Figure 1", "charts": [chart]})
        looks = {(line.get_linestyle(), line.get_marker(), line.get_markerfacecolor()) for line in ax.get_lines()}
        assert len(looks) == 3
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["QCN", "QCN, paper", "QCN, theory"]


def test_two_runs_have_no_band_and_three_have_one(cells: dict[str, list[narrows.Results]]) -> None:
    def bands(runs: list[narrows.Results]) -> list[float]:
        ax = plots.slowdown(runs)
        return [y for band in ax.collections for path in band.get_paths() for y in path.vertices[:, 1]]

    assert not [y for y in bands(cells["dctcp"][:2]) if not np.isnan(y)]
    assert min(bands(cells["dctcp"])) > 0
