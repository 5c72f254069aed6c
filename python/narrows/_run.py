"""Runs and reproductions, with progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows import _narrows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from narrows._narrows import Reproduction, Results, Scenario
    from narrows.controller import Controller

#: Values that may stand for a scenario: itself, the path of a file, or a dict with the keys of one.
ScenarioLike = "Scenario | str | os.PathLike[str] | Mapping[str, Any]"
#: Changes of a scenario: values by path, or texts "path=value" as the command takes them.
Changes = "Mapping[str, Any] | Iterable[str] | str"


def scenario_of(scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any]) -> Scenario:
    """The scenario itself, or the one in a file or a dict."""
    if isinstance(scenario, _narrows.Scenario):
        return scenario
    if isinstance(scenario, (str, os.PathLike)):
        return _narrows.Scenario.load(scenario)
    if isinstance(scenario, Mapping):
        return _narrows.Scenario(dict(scenario))
    message = f"a scenario is a Scenario, a path or a dict, found {type(scenario).__name__}"
    raise TypeError(message)


def run(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    *,
    seed: int | None = None,
    set: Mapping[str, Any] | Iterable[str] | str | None = None,
    controllers: Mapping[str, type[Controller]] | None = None,
    threads: int = 1,
    force: bool = False,
    progress: bool | Callable[[float], object] | None = None,
) -> Results:
    """Run a scenario and return its results.

    The same scenario and seed give the same results, at any number of threads. Ctrl-C, or the stop button of a
    notebook, ends the run with ``KeyboardInterrupt``.

    :param scenario: a :class:`Scenario`, the path of a scenario file, or a dict with its keys.
    :param seed: instead of the scenario's own.
    :param set: changes for this run: ``{"traffic.web.cc": {"cubic": {}}, "stop.after": "20 ms"}``, or texts as the
        command takes them, ``["traffic.web.cc={ cubic = {} }"]``. A subclass of :class:`Controller` may stand for a
        congestion control: ``{"traffic.web.cc": MyAimd}``.
    :param controllers: subclasses of :class:`Controller` by the names that the scenario has for them:
        ``{"mine": MyAimd}`` for ``cc = { custom = { name = "mine" } }``.
    :param threads: threads of this run; with controls in Python one is fastest.
    :param force: go on even if memory may not suffice.
    :param progress: show a bar; by default in terminals and notebooks. A function is called with the fraction that
        is done instead.
    :raises narrows.Error: if the scenario makes no sense; its text is what the command prints. Exceptions that a
        controller raises end the run and come out as they are.
    :warns narrows.NarrowsWarning: of what is suspicious, before the run begins, and of traffic that was stopped for too
        long, when it has ended; also in ``results.warnings``.
    """
    scenario = scenario_of(scenario)
    if controllers:
        scenario = scenario.with_controllers(dict(controllers))
    if set is not None:
        scenario = scenario.with_set(_plain(set))
    if threads < 1:
        raise ValueError(f"threads = {threads}, expected at least 1")
    if callable(progress):
        told = progress
        return _narrows.run(
            scenario, seed=seed, threads=threads, force=force, progress=lambda done, _at, _hops: told(done)
        )
    if not _shown(progress):
        return _narrows.run(scenario, seed=seed, threads=threads, force=force, progress=None)
    with _bar(scenario.name, total=1.0, unit="run") as bar:

        def show(done: float, at: float, hops: int) -> None:
            bar.n = min(done, 1.0)
            bar.set_postfix_str(f"{at * 1e3:.1f} ms simulated, {hops / 1e6:.1f} M packet-hops")

        return _narrows.run(scenario, seed=seed, threads=threads, force=force, progress=show)


def report(
    *folders: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    metric: str | Sequence[str] = (),
    by: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the page of what folders hold, as ``narrows report`` does, and say where it is.

    A run, a comparison, or a sweep, which has a page of its own; several folders are compared.

    :param out: where it goes; ``report.html`` if left out, in the folder if there is one only, where it replaces the
        older.
    :param metric: of a sweep: a metric, or several: ``"p99_slowdown"`` of every group, ``"dc.p99_slowdown"``,
        ``"*.p99_*"``; those that say most if left out.
    :param by: of a sweep: the axis whose values are lines of the figures; its last key will do.
    :param overwrite: replace what is at ``out``.
    :raises narrows.Error: if a folder holds no results, or there is no such metric or axis.
    """
    metrics = [metric] if isinstance(metric, str) else list(metric)
    return Path(_narrows.folder_report(list(folders), out, metrics, by, overwrite))


def repro(
    paper: str | os.PathLike[str],
    *,
    figure: str | int | None = None,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Repeat the experiments of a paper and judge its claims.

    :param paper: "annulus", "bbr3-cases", "bcn", "dvl", "gemini", "rackcc", "themis" or "uno"; or the folder of a
        paper, "./my-paper".
    :param figure: only this figure or table: ``3``, ``"Table 1"``.
    :param quick: a short form: few seeds, shorter runs, not all experiments.
    :param seeds: repeat each experiment with this many seeds; by default as many as verdicts need, 3 to 10, or, if
        ``quick``, 1 or what the paper says.
    :param jobs: runs side by side; by default as many as there are cores, fewer if memory would not suffice.
    :param progress: show a bar; by default in terminals and notebooks.
    """
    name = None if figure is None else str(figure)
    paper = os.fspath(paper)
    jobs = cores() if jobs is None else jobs
    if jobs < 1:
        raise ValueError(f"jobs = {jobs}, expected at least 1")
    if not _shown(progress):
        return _narrows.reproduce(paper, figure=name, quick=quick, seeds=seeds, jobs=jobs, progress=None)
    with _bar(paper, total=None, unit="run") as bar:

        def show(done: int, of: int) -> None:
            bar.total = of
            bar.n = done
            bar.refresh()

        return _narrows.reproduce(paper, figure=name, quick=quick, seeds=seeds, jobs=jobs, progress=show)


def cores() -> int:
    """Processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def _plain(changes: Mapping[str, Any] | Iterable[str] | str) -> dict[str, Any] | list[str]:
    if isinstance(changes, Mapping):
        return dict(changes)
    return [changes] if isinstance(changes, str) else list(changes)


def _shown(progress: object) -> bool:
    """Whether somebody would see a bar."""
    if progress is not None:
        return bool(progress)
    return sys.stderr is not None and (sys.stderr.isatty() or _in_notebook())


def _in_notebook() -> bool:
    kernel = sys.modules.get("ipykernel")
    if kernel is not None and "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        return shell is not None and hasattr(shell, "kernel")
    marimo = sys.modules.get("marimo")
    return bool(marimo is not None and marimo.running_in_notebook())


@contextmanager
def _bar(name: str, *, total: float | None, unit: str) -> Iterator[Any]:
    from tqdm import tqdm

    fraction = "{desc} {percentage:3.0f}% [{bar:25}] {elapsed}<{remaining} {postfix}"
    form = fraction if total == 1.0 else None
    with tqdm(desc=name, total=total, unit=unit, bar_format=form, leave=False, file=sys.stderr) as bar:
        yield bar
