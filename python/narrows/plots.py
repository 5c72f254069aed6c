"""Figures ready for a paper, of results as they are. Needs matplotlib: ``pip install narrows[plots]``.

Every function takes one run, a list of runs (the same scenario with several seeds), or a dict of these by label; with
several seeds it shows geometric means, and from three seeds on 95 % confidence intervals. It draws into ``ax``, or into
a figure of its own, and returns the axes: ``plots.save(plots.cdf(runs), "cdf.pdf")``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

try:
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    import matplotlib.ticker
    import numpy as np
except ModuleNotFoundError as error:
    message = f"plots need {error.name}: pip install narrows[plots]"
    raise ModuleNotFoundError(message, name=error.name) from None

from narrows._narrows import Error, Results, distributions

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from narrows._sweep import SweepResults
    from narrows._tune import Trial, Tuned

    Runs = Results | Sequence[Results] | Mapping[str, Results | Sequence[Results]]

__all__ = ["cdf", "chart", "front", "queues", "rates", "save", "slowdown", "state", "style", "sweep", "windows"]

#: The style sheet of all figures: one column of a two-column paper.
STYLE = Path(__file__).with_name("paper.mplstyle")
_DASHES = ["-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1))]
_P = ParamSpec("_P")


def style() -> AbstractContextManager[None]:
    """The style of all figures here, for figures of your own: ``with plots.style(): …``."""
    return mpl.rc_context(mpl.rc_params_from_file(STYLE, use_default_template=False))


def save(ax: Axes, *paths: str | os.PathLike[str]) -> None:
    """Write the figure of ``ax`` to files, in the style of this module: ``plots.save(ax, "fig.pdf", "fig.png")``.

    The style decides on fonts in PDF files and on the resolution of pictures, so ``ax.figure.savefig`` gives others.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None, "axes that were removed have no figure"
    with style():
        for path in paths:
            figure.savefig(path)


def _styled(draw: Callable[_P, Axes]) -> Callable[_P, Axes]:
    """Draws in the style of this module."""

    @wraps(draw)
    def styled(*arguments: _P.args, **options: _P.kwargs) -> Axes:
        with style():
            return draw(*arguments, **options)

    return styled


@_styled
def cdf(
    runs: Runs,
    *,
    group: str | None = None,
    metric: str = "fct",
    complementary: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Completion times of flows as a cumulative distribution.

    :param runs: a run, runs over seeds, or a dict of these by label.
    :param group: the traffic group; every group has a line if left out.
    :param complementary: the fraction of flows that took longer, on a logarithmic scale, which shows the tail.
    """
    ax = _axes(ax)
    groups = _groups(runs, group)
    for number, (label, found) in enumerate(groups):
        time, fraction, low, high = np.array(found["cdf"], dtype=float).T
        share = 1 - fraction if complementary else fraction
        (line,) = ax.plot(time / 1e3, share, label=label, linestyle=_DASHES[number % len(_DASHES)])
        ax.fill_betweenx(share, low / 1e3, high / 1e3, color=line.get_color(), alpha=0.2, lw=0)
    ax.set(xscale="log", xlabel="completion time, ms", ylabel="fraction of flows")
    if complementary:
        ax.set(yscale="log", ylabel="fraction of flows that take longer")
    else:
        ax.set_ylim(0, 1.01)
    return _legend(ax)


@_styled
def slowdown(runs: Runs, *, group: str | None = None, percentile: int = 99, ax: Axes | None = None) -> Axes:
    """Slowdown by size of flows: completion time divided by that on the empty network.

    :param runs: a run, runs over seeds, or a dict of these by label.
    :param group: the traffic group; every group has a line if left out.
    :param percentile: 50 or 99.
    """
    if percentile not in (50, 99):
        raise ValueError(f"percentile = {percentile}, expected 50 or 99")
    ax = _axes(ax)
    groups = _groups(runs, group)
    if not any(found["slowdown"] for _, found in groups):
        raise ValueError("too few flows: a size needs five flows in each run; make runs longer, or draw plots.cdf")
    for number, (label, found) in enumerate(groups):
        classes = found["slowdown"]
        estimates = [each[f"p{percentile}"] for each in classes]
        sizes = [each["size"] / 1e3 for each in classes]
        means = [estimate["mean"] for estimate in estimates]
        (line,) = ax.plot(sizes, means, label=label, linestyle=_DASHES[number % len(_DASHES)], marker="o")
        _band(ax, sizes, [estimate["interval"] for estimate in estimates], line.get_color())
    ax.set(xscale="log", yscale="log", xlabel="flow size, kB", ylabel=f"slowdown, {percentile}th percentile")
    return _legend(ax)


@_styled
def queues(
    run: Results, *, ports: str | Iterable[str] | None = None, mean: bool = False, ax: Axes | None = None
) -> Axes:
    """Backlogs of ports over time. The scenario has to record it (``record.queues``).

    :param run: one run.
    :param ports: which, named after their links: ``"rack0/tor->spine*"``; the three deepest if left out.
    :param mean: the mean of each interval instead of the most.
    """
    ax = _axes(ax)
    column = "mean_backlog_bytes" if mean else "max_backlog_bytes"
    for name, time, values in _series(run, "queues", "node", column, ports):
        ax.plot(time, values / 1e3, label=name, drawstyle="steps-post")
    ax.set(xlabel="time, ms", ylabel="queue, kB" if not mean else "mean queue, kB")
    ax.set_ylim(bottom=0)
    return _legend(ax)


@_styled
def rates(run: Results, *, links: str | Iterable[str] | None = None, ax: Axes | None = None) -> Axes:
    """Rates of links over time. The scenario has to record it (``record.links`` or ``record.queues``).

    :param run: one run.
    :param links: which: ``"rack0/tor->*"``; the three that carried most if left out.
    """
    ax = _axes(ax)
    table, node = ("links", "from") if "links" in run.table_names else ("queues", "node")
    interval = _interval(run, table)
    for name, time, values in _series(run, table, node, "bytes", links):
        ax.plot(time, values * 8 / interval * 1e3, label=name, drawstyle="steps-post")
    ax.set(xlabel="time, ms", ylabel="rate, Gb/s")
    ax.set_ylim(bottom=0)
    return _legend(ax)


@_styled
def windows(
    run: Results, *, flows: Iterable[int] | None = None, column: str = "cwnd_bytes", ax: Axes | None = None
) -> Axes:
    """Congestion windows of flows over time. The scenario has to record them (``record.windows``).

    :param run: one run.
    :param flows: numbers of flows; the five that were recorded longest if left out.
    :param column: another column of the table ``windows``: ``"inflight_bytes"``, ``"srtt_ps"``, ``"pacing_bps"``.
    """
    ax = _axes(ax)
    table = run.table("windows")
    at, values = table["at_ps"].to_numpy() / 1e9, table[column].to_numpy().astype(float)
    scale, unit = _unit(column)
    for name, rows in _of_flows(table, flows):
        ax.plot(at[rows], values[rows] / scale, label=name, drawstyle="steps-post")
    what = {"cwnd_bytes": "congestion window"}.get(column, column.rsplit("_", 1)[0])
    ax.set(xlabel="time, ms", ylabel=f"{what}, {unit}" if unit else what)
    ax.set_ylim(bottom=0)
    return _legend(ax)


@_styled
def state(run: Results, *, name: str, flows: Iterable[int] | None = None, ax: Axes | None = None) -> Axes:
    """State of congestion controls over time. The scenario has to record it (``record.state``).

    :param run: one run.
    :param name: a number of the table ``state``: ``"alpha"``, ``"ssthresh_bytes"``, ``"bandwidth_bps"``.
    :param flows: numbers of flows; the five that were recorded longest if left out.
    """
    ax = _axes(ax)
    table = run.table("state")
    names = table["name"].to_numpy()
    if name not in names:
        raise ValueError(f"{name} was not recorded; recorded: {', '.join(sorted(set(names)))}")
    at, values = table["at_ps"].to_numpy() / 1e9, table["value"].to_numpy().astype(float)
    scale, unit = _unit(name)
    for flow, rows in _of_flows(table, flows, names == name):
        if np.isnan(values[rows]).all():
            raise ValueError(f"{name} is a word, not a number: it is in the column word of the table state")
        ax.plot(at[rows], values[rows] / scale, label=flow, drawstyle="steps-post")
    what = name.rsplit("_", 1)[0] if unit else name
    ax.set(xlabel="time, ms", ylabel=f"{what}, {unit}" if unit else what)
    return _legend(ax)


@_styled
def sweep(
    found: SweepResults,
    *,
    x: str,
    y: str,
    by: str | None = None,
    where: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A metric of a sweep over one axis, with 95 % confidence bands over seeds where there are intervals.

    :param found: what :func:`narrows.sweep` returned.
    :param x: the axis from left to right; its last key will do: ``"load"`` for
        ``"traffic.dc.pattern.poisson.load"``.
    :param y: a metric: ``"dc.p99_slowdown"``; without a group, ``"goodput_gbps"``, of every group, each with its lines.
    :param by: an axis with a line for each value.
    :param where: values of all other axes: ``{"control": "dctcp"}``.
    """
    ax = _axes(ax)
    across, other = found.axis(x), None if by is None else found.axis(by)
    fixed = {found.axis(name): value for name, value in (where or {}).items()}
    free = [name for name in found.axes if name not in {across, other, *fixed}]
    if free:
        raise ValueError(f"say which value of {', '.join(free)}: where={{{free[0]!r}: …}}")
    positions = found.axes[across]
    numeric = all(isinstance(each, int | float) for each in positions)
    metrics = _of_groups(found, y)
    lines = [(metric, value) for metric in metrics for value in (found.axes[other] if other else [None])]
    for number, (metric, value) in enumerate(lines):
        chosen = fixed if other is None else {**fixed, other: value}
        there = [point for point in found.select(chosen) if point.values[across] is not None]
        points = sorted(there, key=lambda point: positions.index(point.values[across]))
        kept = [(point.values[across], each) for point in points if (each := found.estimate(point, metric))]
        # What is no number stands side by side, and nothing lies between.
        aside = (number - (len(lines) - 1) / 2) * 0.5 / len(lines)
        at = [each if numeric else positions.index(each) + aside for each, _ in kept]
        style: dict[str, Any] = {"linestyle": _DASHES[number % len(_DASHES)] if numeric else "none"}
        names = [metric.rpartition(".")[0]] if len(metrics) > 1 else []
        if other is not None:
            names.append(f"{_spoken(other)} {value}" if isinstance(value, int | float) else _spoken_value(value))
        label = " · ".join(names) or None
        (line,) = ax.plot(at, [each.mean for _, each in kept], label=label, marker="os^Dv<>p"[number % 8], **style)
        bounds = [each.interval for _, each in kept]
        if numeric and len(at) > 1:
            _band(ax, at, bounds, line.get_color())
        else:
            known = [(place, *bound) for place, bound in zip(at, bounds, strict=True) if bound is not None]
            ax.vlines(*(np.array(known).reshape(-1, 3).T), color=line.get_color(), lw=1)
    if not numeric:
        ax.set_xticks(range(len(positions)), [_spoken_value(each) for each in positions])
        ax.set_xlim(-0.5, len(positions) - 0.5)
    ax.set(xlabel=_spoken(across), ylabel=_spoken_metric(y))
    if len(lines) > 1:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(len(lines), 4), columnspacing=1.2)
    if not numeric:
        _turn_labels(ax)
    return ax


def _of_groups(found: SweepResults, metric: str) -> list[str]:
    """The metric itself; of every group that has it if it names none."""
    if "." in metric:
        return [metric]
    every = [name for name in found.metric_names if name.rpartition(".")[2] == metric]
    own = [name for name in every if not name.startswith("total.")] or every
    if not own:
        raise ValueError(f'no group has a metric "{metric}"')
    return own


def _turn_labels(ax: Axes) -> None:
    """Turns the labels of the lower axis as far as it takes for none to run into the next."""
    figure = ax.get_figure(root=True)
    assert figure is not None, "axes that were just drawn have a figure"
    for turned in (30, 90):
        figure.draw_without_rendering()
        if not _overlap(ax):
            return
        for label in ax.get_xticklabels():
            label.set(rotation=turned, ha="right", va="center" if turned == 90 else "top", rotation_mode="anchor")


def _overlap(ax: Axes) -> bool:
    """Whether labels of the lower axis overlap. The boxes of turned labels may, as long as lines have room."""
    labels = [label for label in ax.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    size, turned = (float(labels[0].get_fontsize()), labels[0].get_rotation()) if labels else (0.0, 0.0)
    if turned:
        figure = ax.get_figure(root=True)
        assert figure is not None, "axes that were just drawn have a figure"
        apart = [second.x1 - first.x1 for first, second in pairwise(boxes)]
        return any(each * np.sin(np.radians(turned)) < size * figure.dpi / 72 for each in apart)
    # A blank between them.
    blank = size / 2
    return any(first.x1 + blank > second.x0 for first, second in pairwise(boxes))


@_styled
def front(tuned: Tuned, *, ax: Axes | None = None) -> Axes:
    """Results of the trials of a tuning with two goals, and the front: those that no other beats in both.

    :param tuned: what :func:`narrows.tune` returned.
    """
    names = list(tuned.goals)
    if len(names) != 2:
        raise ValueError(f"a front is drawn of two goals, this tuning has {len(names)}")
    ax = _axes(ax)
    done = [trial for trial in tuned.trials if trial.values]
    allowed = [trial for trial in done if trial.feasible]
    refused = [trial for trial in done if not trial.feasible]
    colors = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    kinds: list[tuple[list[Trial], str, dict[str, Any]]] = [
        (refused, "breaks a constraint", {"marker": "x", "color": "0.6", "alpha": 0.8}),
        (allowed, "trial", {"marker": "o", "color": colors[5], "alpha": 0.6}),
    ]
    for trials, label, style in kinds:
        if trials:
            x, y = zip(*[[each.values[name] for name in names] for each in trials], strict=True)
            ax.scatter(x, y, s=9, label=label, **style)
    # Steps enclose what the front allows; nothing is known to lie on a line between two trials.
    leftwards = tuned.goals[names[0]] == "minimize"
    best = sorted(tuned.front, key=lambda trial: trial.values[names[0]])
    x, y = zip(*[[each.values[name] for name in names] for each in best], strict=True)
    ax.plot(x, y, drawstyle="steps-post" if leftwards else "steps-pre", marker="o", color=colors[1], label="front")
    better = {"minimize": "less is better", "maximize": "more is better"}
    ax.set(
        **{
            f"{axis}label": f"{_spoken_metric(name)}\n({better[tuned.goals[name]]})"
            for axis, name in zip("xy", names, strict=True)
        }
    )
    return _legend(ax)


@_styled
def chart(figure: Mapping[str, Any], number: int = 0, *, ax: Axes | None = None) -> Axes:
    """A chart of a reproduction: ``plots.chart(reproduction.figures[0])``.

    Solid lines and full points are what was measured, dashed lines and hollow points what the paper reports, dotted
    lines theory.

    :param figure: one of ``Reproduction.figures``.
    :param number: which of its charts.
    """
    charts = figure["charts"]
    if not 0 <= number < len(charts):
        raise ValueError(f"{figure['name']} has {len(charts)} charts, there is no number {number}")
    data = charts[number]
    ax = _axes(ax)
    colors = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    for curve in data["curves"]:
        x, y = np.array(curve["points"], dtype=float).reshape(-1, 2).T
        color = colors[curve["color"] % len(colors)]
        points = data["style"] == "points" and curve["origin"] != "theory"
        ax.plot(
            x,
            y,
            label=curve["label"],
            color=color,
            linestyle="none" if points else {"measured": "-", "paper": "--", "theory": ":"}[curve["origin"]],
            drawstyle="steps-post" if data["style"] == "steps" else "default",
            marker="o" if points else None,
            markerfacecolor="none" if curve["origin"] == "paper" else color,
        )
    for axis, name in ((data["x"], "x"), (data["y"], "y")):
        ax.set(**{f"{name}label": axis["label"]})
        if axis.get("log"):
            ax.set(**{f"{name}scale": "log"})
            _label_log(ax.xaxis if name == "x" else ax.yaxis)
    ax.set_title(data["title"])
    return _legend(ax)


def _spoken(axis: str) -> str:
    """The name of an axis for readers: ``load`` for ``traffic.dc.pattern.poisson.load``."""
    return axis.rsplit(".", 1)[-1].replace("_", " ")


def _spoken_value(value: Any) -> str:
    """A value of an axis for readers: ``dctcp`` for ``{"dctcp": {}}``."""
    if isinstance(value, Mapping) and len(value) == 1 and not next(iter(value.values())):
        return str(next(iter(value)))
    return str(value)


def _spoken_metric(name: str) -> str:
    """The name of a metric for readers: ``dc: p99 slowdown``, ``wan: goodput, Gb/s``."""
    group, _, metric = name.rpartition(".")
    units = {"us": "µs", "gbps": "Gb/s", "kb": "kB", "fraction": "fraction"}
    words = metric.split("_")
    unit = units.get(words[-1])
    what = " ".join(words[:-1] if unit else words).replace("fct", "completion time")
    return (f"{group}: " if group else "") + what + (f", {unit}" if unit else "")


def _label_log(axis: Any) -> None:
    """Labels an axis of less than two decades at 1, 2 and 5, where the usual labels overlap."""
    low, high = axis.get_view_interval()
    if low > 0 and high < 100 * low:
        axis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(mpl.ticker.NullFormatter())


def _axes(ax: Axes | None) -> Axes:
    return plt.subplots()[1] if ax is None else ax


def _legend(ax: Axes) -> Axes:
    if len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend()
    return ax


def _cells(runs: Runs) -> dict[str, list[Results]]:
    """Runs over seeds by label."""
    if isinstance(runs, Results):
        return {"": [runs]}
    if isinstance(runs, Mapping):
        return {label: [one] if isinstance(one, Results) else list(one) for label, one in runs.items()}
    return {"": list(runs)}


def _groups(runs: Runs, group: str | None) -> list[tuple[str, dict[str, Any]]]:
    """Distributions of groups, each with a label."""
    cells = {label: distributions(cell) for label, cell in _cells(runs).items()}
    known = dict.fromkeys(each["name"] for groups in cells.values() for each in groups)
    found = []
    for label, groups in cells.items():
        for each in groups:
            if group in (None, each["name"]):
                name = each["name"] if group is None and len(known) > 1 else ""
                found.append((" · ".join(filter(None, [label, name])), each))
    if not found:
        names = ", ".join(known) or "none"
        raise ValueError(f"no flows of {group or 'any group'} count; groups with flows that count: {names}")
    return found


def _band(ax: Axes, x: Sequence[float], bounds: Sequence[tuple[float, float] | None], color: Any) -> None:
    """Confidence intervals as a band, with gaps where there is none."""
    low, high = np.array([(np.nan, np.nan) if bound is None else bound for bound in bounds], dtype=float).T
    ax.fill_between(x, low, high, color=color, alpha=0.2, lw=0)


def _interval(run: Results, table: str) -> float:
    """Length of the intervals of a table, in ps."""
    interval = run.info["recorded"][f"{table}_interval_ps"]
    if interval is None:
        raise Error(f'the scenario does not record {table}: [record] {table} = {{ interval = "100 us" }}')
    return float(interval)


def _unit(column: str) -> tuple[float, str]:
    """Factor between the unit of a column and the one that is shown, and the name of that."""
    units = {"bytes": (1e3, "kB"), "ps": (1e6, "µs"), "bps": (1e9, "Gb/s")}
    return units.get(column.rsplit("_", 1)[-1], (1.0, ""))


def _of_flows(table: Any, wanted: Iterable[int] | None, among: Any = True) -> Iterator[tuple[str, Any]]:
    """Name and rows of flows; of the five that have most rows if none are wanted."""
    flow, group = table["flow"].to_numpy(), table["group"].to_numpy()
    known, rows_of = np.unique(flow[np.broadcast_to(among, flow.shape)], return_counts=True)
    for number in sorted(known[np.argsort(-rows_of, kind="stable")[:5]]) if wanted is None else wanted:
        if number not in known:
            raise ValueError(f"flow {number} was not recorded; recorded: {', '.join(map(str, known))}")
        rows = (flow == number) & among
        yield f"{group[rows][0]} {number}", rows


def _series(
    run: Results, table_name: str, node: str, column: str, wanted: str | Iterable[str] | None
) -> list[tuple[str, Any, Any]]:
    """Name, time in ms and values of ports or links; intervals in which nothing happened have zero."""
    interval = _interval(run, table_name)
    table = run.table(table_name)
    link = table["link"].to_numpy()
    slot = (table["start_ps"].to_numpy() / interval).round().astype(int)
    values = table[column].to_numpy().astype(float)
    froms, tos = table[node].to_numpy(), table["to"].to_numpy()
    firsts = {int(number): int(row) for number, row in zip(*np.unique(link, return_index=True), strict=True)}
    names = {number: f"{froms[row]}->{tos[row]}" for number, row in firsts.items()}
    if wanted is None:
        worth = {number: values[link == number].max() for number in firsts}
        if column == "bytes":
            worth = {number: values[link == number].sum() for number in firsts}
        chosen = sorted(worth, key=lambda number: (-worth[number], number))[:3]
    else:
        patterns = [wanted] if isinstance(wanted, str) else list(wanted)
        chosen = [number for number, name in names.items() if any(fnmatchcase(name, each) for each in patterns)]
        if not chosen:
            raise ValueError(f"no recorded link is called {' or '.join(patterns)}; recorded: {_some(names.values())}")
    slots = int(np.ceil(run.info["ended_ps"] / interval))
    time = np.arange(slots + 1) * interval / 1e9
    series = []
    for number in chosen:
        full = np.zeros(slots + 1)
        rows = link == number
        full[np.minimum(slot[rows], slots)] = values[rows]
        series.append((names[number], time, full))
    return series


def _some(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:12]) + (f", … ({len(every) - 12} more)" if len(every) > 12 else "")
