"""Sweeps: a grid of settings, each point with several seeds, on this machine or elsewhere."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import closing
from fnmatch import fnmatchcase
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows import _narrows
from narrows._run import _bar, _shown, cores, report, scenario_of

if TYPE_CHECKING:
    from narrows._narrows import Campaign, Estimate, PointSummary, Results, Scenario

#: Cells that wait at an executor for each worker, so that no worker waits for a cell.
AHEAD = 2
#: Columns of estimates behind the axes.
ESTIMATES = ("metric", "mean", "low", "high", "least", "most", "seeds", "marks")
#: More points than this are not shown in tables of notebooks.
SHOWN = 50


class SweepResults:
    """Results of a sweep.

    ``folder`` holds the data set: ``summary.parquet`` with a row per cell and all metrics, ``flows.parquet`` and the
    other tables of all cells together, each with the cell, the point, the seed and the settings of its rows.
    """

    def __init__(self, folder: Path, points: Sequence[PointSummary], tally: Mapping[str, int]) -> None:
        #: Where cells and data set are.
        self.folder = folder
        #: The points of the grid with their metrics, the last axis varies fastest.
        self.points = list(points)
        #: Number of cells, of those that were there before, and of those that have been run.
        self.tally = dict(tally)

    @property
    def axes(self) -> dict[str, list[Any]]:
        """Names of the axes, and their values in order; None where an axis does not apply to a point's control."""
        axes: dict[str, list[Any]] = {}
        for point in self.points:
            for name, value in point.values.items():
                known = axes.setdefault(name, [])
                if value is not None and value not in known:
                    known.append(value)
        return axes

    @property
    def metric_names(self) -> list[str]:
        """Names of all metrics."""
        return list(dict.fromkeys(name for point in self.points for name in point.metrics))

    def select(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> list[PointSummary]:
        """The points with these values: ``found.select(control="dctcp", load=0.4)``.

        An axis that is a path may be named by its last key: ``load`` for
        ``traffic.dc.pattern.poisson.load``.
        """
        wanted = {self.axis(name): value for name, value in {**(values or {}), **more}.items()}
        for name, value in wanted.items():
            if value not in self.axes[name]:
                known = ", ".join(map(repr, self.axes[name]))
                raise ValueError(f"{name} has no value {value!r}, it has {known}")
        return [point for point in self.points if all(point.values[name] == v for name, v in wanted.items())]

    def metric(self, name: str, values: Mapping[str, Any] | None = None, /, **more: Any) -> Estimate:
        """A metric at the only point with these values, with its confidence interval."""
        points = self.select(values, **more)
        if len(points) != 1:
            raise ValueError(f"{len(points)} points have these values; axes: {', '.join(self.axes) or 'none'}")
        found = self.estimate(points[0], name)
        if found is None:
            raise ValueError(f"there was nothing to take {name} of at {points[0].values}")
        return found

    def estimate(self, point: PointSummary, name: str) -> Estimate | None:
        """A metric of a point; None if there was nothing to take it of."""
        if name not in self.metric_names:
            near = _narrows.nearest(name, self.metric_names)
            hint = f', did you mean "{near}"?' if near else ""
            raise ValueError(f'no metric is called "{name}"{hint}')
        return point.metrics.get(name)

    def estimates(self, metric: str | Sequence[str] = "*") -> dict[str, list[Any]]:
        """Metrics of all points as columns, a row for each point and metric that there was something to take of.

        Columns: the axes, ``metric``, ``mean``, ``low`` and ``high`` (the bounds of the 95 % confidence interval, None
        where there is none), ``least`` and ``most`` of a run, ``seeds``, ``marks`` (why it is less certain than its
        digits: † leaves out unfinished flows, ‡ of few flows, § seeds fall into two groups). ``pandas.DataFrame`` and
        ``polars.DataFrame`` take them as they are. An axis of one of these names is called ``grid.NAME``.

        :param metric: a metric, or several: ``"p99_slowdown"`` of every group, ``"dc.p99_slowdown"``, ``"*.p99_*"``.
        :raises ValueError: if no metric is called so.
        """
        names = self._called([metric] if isinstance(metric, str) else metric)
        rows = []
        for point in self.points:
            at, metrics, marks = point.values.values(), point.metrics, point.marks
            rows += [
                (*at, name, found.mean, found.low, found.high, *found.range, found.samples, marks.get(name, ""))
                for name in names
                if (found := metrics.get(name)) is not None
            ]
        axes = [f"grid.{name}" if name in ESTIMATES else name for name in self.axes]
        heads = [*axes, *ESTIMATES]
        return {head: [row[number] for row in rows] for number, head in enumerate(heads)}

    def _called(self, patterns: Sequence[str]) -> list[str]:
        """Metrics that are called so, in their order."""

        def is_called(name: str, pattern: str) -> bool:
            return fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[2], pattern)

        for pattern in patterns:
            if not any(is_called(name, pattern) for name in self.metric_names):
                near = _narrows.nearest(pattern, self.metric_names)
                hint = f', did you mean "{near}"?' if near else ""
                raise ValueError(f'no metric is called "{pattern}"{hint}')
        return [name for name in self.metric_names if any(is_called(name, pattern) for pattern in patterns)]

    def to_pandas(self, metric: str | Sequence[str] = "*") -> Any:
        """:meth:`estimates` as a data frame of pandas."""
        import pandas

        return pandas.DataFrame(self.estimates(metric))

    def to_polars(self, metric: str | Sequence[str] = "*") -> Any:
        """:meth:`estimates` as a data frame of polars."""
        import polars

        return polars.DataFrame(self.estimates(metric), infer_schema_length=None, strict=False)

    def runs(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> list[Results]:
        """The results of all cells with these values, read from the folder."""
        cells = [cell for point in self.select(values, **more) for cell in point.cells]
        return [_narrows.Results.load(self.folder / "cells" / cell) for cell in cells]

    def table(self, name: str = "summary") -> Path:
        """The Parquet file of a table of the data set, for polars, pandas, DuckDB and whatever else reads Parquet."""
        path = self.folder / f"{name}.parquet"
        if not path.exists():
            known = ", ".join(sorted(path.stem for path in self.folder.glob("*.parquet")))
            raise _narrows.Error(f"the data set has no table {name}, it has: {known}")
        return path

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        metric: str | Sequence[str] = (),
        by: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the page of the sweep, which opens in any browser, and say where it is.

        Which differences the runs support, a figure for each metric, the table, the cells.

        :param path: where it goes; ``report.html`` in the folder of the sweep if left out, where it replaces the older.
        :param metric: a metric, or several: ``"p99_slowdown"`` of every group, ``"dc.p99_slowdown"``, ``"*.p99_*"``;
            those that say most if left out.
        :param by: the axis whose values are lines of the figures; its last key will do.
        :param overwrite: replace what is at ``path``.
        :raises narrows.Error: if there is no such metric or axis, or the page cannot be written.
        """
        return report(self.folder, out=path, metric=metric, by=by, overwrite=overwrite)

    def axis(self, name: str) -> str:
        """The whole name of an axis that may be named by its last key."""
        if name in self.axes:
            return name
        ends = [axis for axis in self.axes if axis.rsplit(".", 1)[-1] == name]
        if len(ends) == 1:
            return ends[0]
        raise ValueError(f'no axis is called "{name}"; axes: {", ".join(self.axes) or "none"}')

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[PointSummary]:
        return iter(self.points)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name} ({len(values)})" for name, values in self.axes.items()) or "one point"
        return f"<SweepResults {self.folder}, {len(self.points)} points: {axes}>"

    def _repr_html_(self) -> str:
        metrics, groups, legend = _narrows.sweep_table(self.points[:SHOWN])
        head = "".join(f"<th>{escape(name)}</th>" for name in [*self.axes, "seeds", "group", *metrics])
        rows, last = [], None
        for number, group, values in groups:
            point = self.points[number]
            names = [*map(str, point.values.values()), str(len(point.cells))]
            cells = [*(names if number != last else [""] * len(names)), group, *values]
            rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
            last = number
        more = len(self.points) - SHOWN
        note = f"<p>and {more} more points</p>" if more > 0 else ""
        below = "".join(f"<div>{escape(line)}</div>" for line in legend)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{note}{below}"


def load_sweep(folder: str | os.PathLike[str]) -> SweepResults:
    """Read the sweep in a folder again: one of :func:`sweep`, of ``narrows sweep`` or of ``narrows merge``.

    It may be unfinished: then it has the points that have a cell, and a warning says how many cells are missing.

    :raises narrows.Error: if the folder holds no sweep, or no cell of it.
    :warns narrows.NarrowsWarning: if cells are missing.
    """
    points, cells, there = _narrows.load_sweep(folder)
    if there < cells:
        message = f"{cells - there} of {cells} cells are missing in {os.fspath(folder)}; sweep() again runs them"
        warnings.warn(_narrows.NarrowsWarning(message), stacklevel=2)
    return SweepResults(Path(folder), points, {"cells": cells, "found": there, "run": 0})


def sweep(
    grid: Mapping[str, Any] | str | os.PathLike[str],
    *,
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any] | None = None,
    seeds: int | None = None,
    set: Mapping[str, Any] | None = None,
    until: Mapping[str, Any] | None = None,
    name: str | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    client: Any = None,
    threads: int = 1,
    retries: int = 0,
    yes: bool = False,
    force: bool = False,
    progress: bool | None = None,
) -> SweepResults:
    """Run a scenario at every point of a grid, each with several seeds, and gather the results in one data set.

    A cell (a point and a seed) is known by the hash of its scenario, its seed and the engine, and its results are
    there as a whole or not at all: a sweep that was interrupted, by whatever, goes on where it stopped, and a larger
    grid runs only what is new. A cell whose files are damaged is run again, with a warning. The bytes are the same
    wherever and in whichever order cells were run.

    :param grid: an array of values by path, or options by label: ``{"traffic.dc.pattern.poisson.load": [0.2, 0.4],
        "control": {"dctcp": {"traffic.dc.cc": {"dctcp": {}}}, "gemini": {"traffic.dc.cc": {"gemini": {}}}}}``,
        values that each of several paths gets:
        ``{"k": {"sets": ["switches.tor.marking.step.k"], "values": ["30 kB"]}}``;
        or the path of a ``sweep.toml``. Settings of one control are left out where there is another.
    :param scenario: what is varied; not with a ``sweep.toml``, which says it itself.
    :param seeds: seeds of each point, counting up from the scenario's own.
    :param set: changes for all points.
    :param until: add seeds to a point until the confidence interval of a metric is small enough:
        ``{"metric": "dc.p99_slowdown", "half_width": 0.05, "most": 30}``, as a fraction of its mean; at least three
        seeds, and the most where a run has 0.
    :param name: names the folder; the scenario's name if left out.
    :param out: where cells and data set go; ``out/NAME`` if left out. Running again goes on.
    :param jobs: cells side by side on this machine; as many as there are cores if left out.
    :param executor: any executor of ``concurrent.futures`` that runs cells instead.
    :param client: a client of Dask, or the address of its scheduler: ``"tcp://host:8786"``. Workers need the same
        version of narrows.
    :param threads: threads of each cell.
    :param retries: how often a cell that could not be run is tried again.
    :param yes: run more than 10 000 cells.
    :param force: go on even if memory may not suffice.
    :param progress: show a bar; by default in terminals and notebooks.
    :raises narrows.Error: if something makes no sense, or cells could not be run; finished ones are kept.
    :warns narrows.NarrowsWarning: of what is suspicious about its points, each thing once.
    """
    asked = _asked(grid, scenario, seeds, set, until, name)
    asked.check_size(yes)
    folder = Path("out") / asked.name if out is None else Path(out)
    if executor is not None and client is not None:
        raise ValueError("executor and client exclude each other")
    if executor is not None:
        place: _Place = _Pool(executor, jobs)
    elif client is not None:
        from narrows._dask import Cluster

        place = Cluster(client)
    else:
        jobs = cores() if jobs is None else jobs
        return _local(asked, folder, jobs, threads, retries, force, _shown(progress))
    with place:
        return _elsewhere(asked, folder, place, threads, retries, _shown(progress))


def _asked(
    grid: Mapping[str, Any] | str | os.PathLike[str],
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any] | None,
    seeds: int | None,
    set: Mapping[str, Any] | None,
    until: Mapping[str, Any] | None,
    name: str | None,
) -> _narrows.Sweep:
    if isinstance(grid, Mapping):
        if scenario is None:
            raise TypeError("sweep() needs a scenario: sweep(grid, scenario=…)")
        base = scenario_of(scenario)
        return _narrows.Sweep(
            base.name if name is None else name,
            base,
            set=dict(set or {}),
            grid=dict(grid),
            seeds=seeds,
            until=None if until is None else dict(until),
        )
    given = {"scenario": scenario, "set": set, "until": until, "name": name}
    extra = [key for key, value in given.items() if value is not None]
    if extra:
        raise TypeError(f"the file {os.fspath(grid)} says the {extra[0]} itself")
    return _narrows.Sweep.load(grid, seeds=seeds)


def _local(
    asked: _narrows.Sweep, folder: Path, jobs: int, threads: int, retries: int, force: bool, shown: bool
) -> SweepResults:
    """On the cores of this machine, without processes or pickles."""
    if jobs < 1 or threads < 1:
        raise ValueError(f"jobs = {jobs}, threads = {threads}, expected at least 1")
    campaign = _narrows.Campaign(asked, folder, jobs=jobs, threads=threads, retries=retries, force=force)
    with closing(campaign):
        campaign.warn(2)
        if not shown:
            campaign.run(progress=None)
        else:
            with _bar(asked.name, total=1.0, unit="sweep") as bar:
                campaign.run(progress=_show(bar))
        return _finish(campaign, folder)


def _show(bar: Any) -> Callable[[float, int, int], None]:
    def show(done: float, cells: int, of: int) -> None:
        bar.n = min(done, 1.0)
        bar.set_postfix_str(f"{cells} of {of} cells")

    return show


def _finish(campaign: Campaign, folder: Path) -> SweepResults:
    failures = campaign.failures()
    if failures:
        shown = "\n".join(f"  {where}: {why}" for where, why in failures[:10])
        more = f"\n  and {len(failures) - 10} more" if len(failures) > 10 else ""
        raise _narrows.Error(
            f"{len(failures)} cells could not be run:\n{shown}{more}\n"
            f"All others are in {folder}; sweep() again tries those that are missing."
        )
    return SweepResults(folder, campaign.finish(), campaign.tally())


class _Place:
    """Where cells are run."""

    #: Controls of Python that cells name, with the versions of their code.
    controllers: dict[str, Any] = {}  # noqa: RUF012

    def __enter__(self) -> _Place:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @property
    def width(self) -> int:
        """Number of cells it may have at a time."""
        raise NotImplementedError

    def submit(self, task: str, files: dict[str, bytes], threads: int, store: str | None, id: str) -> Future[Any]:
        """Begin a cell."""
        raise NotImplementedError

    def wait(self, futures: Sequence[Future[Any]]) -> list[Future[Any]]:
        """Those that have ended, as soon as there are some."""
        raise NotImplementedError

    def broken(self, error: BaseException) -> str | None:
        """Why no further cell can be run, if that is what the error says."""
        raise NotImplementedError

    def cancel(self, futures: Sequence[Future[Any]]) -> None:
        """Forget these."""
        for future in futures:
            future.cancel()


class _Pool(_Place):
    """An executor of concurrent.futures."""

    def __init__(self, executor: Executor, jobs: int | None) -> None:
        self._executor = executor
        workers = getattr(executor, "_max_workers", None)
        self._width = jobs or AHEAD * (workers if isinstance(workers, int) else cores())

    @property
    def width(self) -> int:
        return self._width

    def submit(self, task: str, files: dict[str, bytes], threads: int, store: str | None, id: str) -> Future[Any]:
        return self._executor.submit(run_cell, task, files, threads, store, self.controllers)

    def wait(self, futures: Sequence[Future[Any]]) -> list[Future[Any]]:
        return list(wait(futures, return_when=FIRST_COMPLETED).done)

    def broken(self, error: BaseException) -> str | None:
        if isinstance(error, BrokenExecutor):
            return f"the executor is broken: {error}"
        if isinstance(error, CancelledError):
            return "cells were canceled"
        return None


def run_cell(
    task: str, files: dict[str, bytes], threads: int, store: str | None, controllers: dict[str, Any]
) -> dict[str, bytes] | None:
    """Run a cell wherever this is called: its results go into the store if it is in reach, and are returned if not."""
    return _narrows.run_task(task, files, threads, store, controllers)


def _elsewhere(
    asked: _narrows.Sweep, folder: Path, place: _Place, threads: int, retries: int, shown: bool
) -> SweepResults:
    """Wherever an executor runs it. Results are put in the store one by one, as they come."""
    campaign = _narrows.Campaign(asked, folder, jobs=place.width, threads=threads, retries=retries, force=True)
    store, files = str(folder.resolve()), campaign.files()
    running: dict[Future[Any], tuple[str, str]] = {}
    place.controllers = asked.controllers
    with closing(campaign):
        campaign.warn(2)
        try:
            if shown:
                with _bar(asked.name, total=1.0, unit="sweep") as bar:
                    _drive(campaign, place, running, files, threads, store, _show(bar))
            else:
                _drive(campaign, place, running, files, threads, store, None)
        except BaseException as error:
            place.cancel(list(running))
            if isinstance(error, Exception) and (reason := place.broken(error)) is not None:
                raise _narrows.Error(f"{reason}. Finished cells are kept; sweep() again goes on.") from error
            raise
        return _finish(campaign, folder)


def _drive(
    campaign: Campaign,
    place: _Place,
    running: dict[Future[Any], tuple[str, str]],
    files: dict[str, bytes],
    threads: int,
    store: str,
    show: Callable[[float, int, int], None] | None,
) -> None:
    shown = 0.0
    while True:
        while len(running) < place.width:
            want = campaign.next()
            if want is None:
                break
            id, task = want
            running[place.submit(task, files, threads, store, id)] = want
        if not running:
            return
        for future in place.wait(list(running)):
            id, task = running.pop(future)
            try:
                results = future.result()
            except Exception as error:
                if place.broken(error) is not None or getattr(error, "for_all", False):
                    raise
                campaign.failed(id, str(error) or type(error).__name__)
            else:
                if results is not None:
                    campaign.put(id, results)
                elif not campaign.has(id):
                    # Another disk has a copy of this sweep in a folder of the same name.
                    running[place.submit(task, files, threads, None, id)] = (id, task)
                    continue
                campaign.done(id)
        if show is not None and time.monotonic() - shown > 0.1:
            shown = time.monotonic()
            show(*campaign.progress())
