"""Search for settings: Optuna asks, sweeps answer. Needs optuna: ``pip install narrows[tune]``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from narrows import _narrows
from narrows._run import _bar, _shown, scenario_of
from narrows._sweep import SweepResults, sweep

if TYPE_CHECKING:
    import optuna

    from narrows._narrows import Scenario

Direction = Literal["minimize", "maximize"]


@dataclass(frozen=True)
class Real:
    """A number between two others.

    :param sets: the paths that get it; the name of the parameter if left out.
    """

    low: float
    high: float
    log: bool = False
    sets: Sequence[str] | None = None

    def _suggest(self, trial: optuna.Trial, name: str) -> Any:
        return trial.suggest_float(name, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Integer:
    """A whole number between two others."""

    low: int
    high: int
    log: bool = False
    sets: Sequence[str] | None = None

    def _suggest(self, trial: optuna.Trial, name: str) -> Any:
        return trial.suggest_int(name, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Quantity:
    """A time, a size or a rate between two others: ``Quantity("20 kB", "400 kB", log=True)``."""

    low: str
    high: str
    log: bool = False
    sets: Sequence[str] | None = None

    def _suggest(self, trial: optuna.Trial, name: str) -> Any:
        (low, unit), (high, other) = _narrows.quantity(self.low), _narrows.quantity(self.high)
        if unit != other:
            raise ValueError(f"{name}: {self.low} and {self.high} are not of one kind")
        # Three digits tell settings apart; more would only make every trial a new one.
        value = trial.suggest_float(name, float(low), float(high), log=self.log)
        return f"{round(float(f'{value:.3g}'))} {unit}"


@dataclass(frozen=True)
class Choice:
    """One of several values; a dict gives them names, and each may set several paths.

    ``Choice({"dctcp": {"traffic.dc.cc": {"dctcp": {}}}, "swift": {"traffic.dc.cc": {"swift": {}}}})``
    """

    options: Sequence[Any] | Mapping[str, Mapping[str, Any]]
    sets: Sequence[str] | None = None

    def _suggest(self, trial: optuna.Trial, name: str) -> Any:
        options = list(self.options)
        if all(isinstance(option, str | int | float | bool) for option in options):
            return trial.suggest_categorical(name, options)
        return options[trial.suggest_categorical(name, list(range(len(options))))]


Parameter = Real | Integer | Quantity | Choice


@dataclass(frozen=True)
class Trial:
    """One choice of parameters, and what came of it."""

    #: Its number, from 0.
    number: int
    #: The parameters, as they stand in the scenario.
    params: dict[str, Any]
    #: Results by goal: means over seeds (:class:`Estimate`); empty if there was nothing to take a goal of.
    values: dict[str, float]
    #: All metrics, as means over seeds.
    metrics: dict[str, float | None]
    #: No constraint is broken.
    feasible: bool
    #: Changes of the scenario, for ``narrows.run(scenario, set=trial.changes)``.
    changes: dict[str, Any]


class Tuned:
    """Results of a search."""

    def __init__(self, study: optuna.Study, goals: Mapping[str, Direction], trials: Sequence[Trial]) -> None:
        #: The study of Optuna.
        self.study = study
        #: Metrics that were to be made small or large.
        self.goals = dict(goals)
        #: All trials in order.
        self.trials = list(trials)

    @cached_property
    def front(self) -> list[Trial]:
        """Trials that keep all constraints and that no other beats in every goal; of one goal, the best."""
        allowed = [trial for trial in self.trials if trial.values and trial.feasible]
        if not allowed:
            raise _narrows.Error("no trial keeps all constraints; loosen them, or search further")
        points = {trial.number: self._costs(trial) for trial in allowed}

        def beaten(mine: tuple[float, ...]) -> bool:
            return any(
                other != mine and all(a <= b for a, b in zip(other, mine, strict=True)) for other in points.values()
            )

        front: dict[tuple[float, ...], Trial] = {}
        for trial in allowed:
            if not beaten(points[trial.number]):
                front.setdefault(points[trial.number], trial)
        return list(front.values())

    @property
    def best(self) -> Trial:
        """The best trial. With several goals there is none: see :attr:`front`."""
        if len(self.goals) > 1:
            raise ValueError(f"with {len(self.goals)} goals there is no best trial, only a front")
        return self.front[0]

    def _costs(self, trial: Trial) -> tuple[float, ...]:
        values = trial.values
        return tuple(values[name] if how == "minimize" else -values[name] for name, how in self.goals.items())

    def __repr__(self) -> str:
        goals = ", ".join(f"{how} {name}" for name, how in self.goals.items())
        return f"<Tuned {goals}: {len(self.trials)} trials>"

    def _repr_html_(self) -> str:
        names = list(self.trials[0].params) if self.trials else []
        head = "".join(f"<th>{name}</th>" for name in ["trial", *names, *self.goals])
        rows = []
        for trial in self.front:
            values = [f"{trial.values[name]:.4g}" for name in self.goals]
            cells = [str(trial.number), *[str(trial.params[name]) for name in names], *values]
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def tune(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    space: Mapping[str, Parameter],
    *,
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
    constraints: Sequence[str] = (),
    trials: int = 50,
    seeds: int = 3,
    set: Mapping[str, Any] | None = None,
    batch: int | None = None,
    sampler: optuna.samplers.BaseSampler | None = None,
    sampler_seed: int = 1,
    name: str | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    executor: Executor | None = None,
    client: Any = None,
    progress: bool | None = None,
) -> Tuned:
    """Search for settings of a scenario that make metrics small or large.

    Trials are run in batches, each a :func:`narrows.sweep` with several seeds. Their cells stay in ``out``: the same
    search again, or a longer one, runs only what is new.

    :param scenario: what is tuned.
    :param space: parameters by path, or by a name of their own with ``sets``: ``{"K": narrows.Quantity("20 kB",
        "400 kB", log=True, sets=["switches.tor.marking.step.k", "traffic.dc.cc.gemini.marking_threshold"])}``.
    :param minimize: a metric, or several: ``"dc.p99_slowdown"``.
    :param maximize: a metric, or several: ``"wan.goodput_gbps"``.
    :param constraints: what has to hold: ``["total.drops <= 0", "wan.goodput_gbps >= 5"]``.
    :param trials: how many choices of parameters are tried.
    :param seeds: seeds of each; goals are means over them.
    :param set: changes for all trials.
    :param batch: trials that are chosen before their results are seen; 4 if left out, so that a search comes out the
        same on any machine.
    :param sampler: of Optuna; by default TPE for one goal and NSGA-II for several.
    :param sampler_seed: the same seed gives the same search.
    :param name: names the folder; the scenario's name if left out.
    :param out: where cells go; ``out/tune-NAME`` if left out.
    :param jobs: see :func:`narrows.sweep`, as ``executor`` and ``client``.
    :param progress: show a bar; by default in terminals and notebooks.
    """
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("tuning needs optuna: pip install narrows[tune]", name="optuna") from error
    base = scenario_of(scenario)
    goals = _goals(minimize, maximize)
    bounds = [_bound(text) for text in constraints]
    if not space:
        raise ValueError("space has no parameters")
    batch = 4 if batch is None else batch
    if trials < 1 or seeds < 1 or batch < 1:
        raise ValueError(f"trials = {trials}, seeds = {seeds}, batch = {batch}, expected at least 1")
    name = base.name if name is None else name
    folder = Path("out") / f"tune-{name}" if out is None else Path(out)
    search = _Search(base, dict(space), goals, bounds, dict(set or {}))
    options = {"seeds": seeds, "name": f"tune-{name}", "out": folder, "progress": False}
    places: dict[str, Any] = {"jobs": jobs, "executor": executor, "client": client}
    sampler = _sampler(optuna, len(goals), sampler, sampler_seed)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(directions=list(goals.values()), sampler=sampler)
    done: list[Trial] = []

    def step() -> None:
        asked = [study.ask() for _ in range(min(batch, trials - len(done)))]
        done.extend(search.run(study, asked, options | places))

    if not _shown(progress):
        while len(done) < trials:
            step()
    else:
        with _bar(f"tune {name}", total=trials, unit="trial") as bar:
            while len(done) < trials:
                step()
                bar.n = len(done)
                bar.refresh()
    return Tuned(study, goals, done)


class _Search:
    """Turns trials into points of a sweep, and what they measured into answers."""

    def __init__(
        self,
        base: Scenario,
        space: dict[str, Parameter],
        goals: dict[str, Direction],
        bounds: list[_Bound],
        set: dict[str, Any],
    ) -> None:
        self._base, self._space, self._goals, self._bounds, self._set = base, space, goals, bounds, set

    def run(self, study: optuna.Study, asked: Sequence[optuna.Trial], options: Mapping[str, Any]) -> list[Trial]:
        """Run trials side by side and tell the study."""
        params = [{name: each._suggest(trial, name) for name, each in self._space.items()} for trial in asked]
        changes = [self._changes(chosen) for chosen in params]
        grid = {"trial": {str(trial.number): changed for trial, changed in zip(asked, changes, strict=True)}}
        found = sweep(grid, scenario=self._base, set=self._set, **options)
        done = []
        for trial, chosen, changed in zip(asked, params, changes, strict=True):
            one = self._judge(found, trial.number, chosen, changed)
            for bound in self._bounds:
                trial.set_constraint(bound.text, bound.violation(one.metrics))
            if not one.values:
                import optuna

                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, list(one.values.values()))
            done.append(one)
        return done

    def _changes(self, params: Mapping[str, Any]) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        for name, value in params.items():
            parameter = self._space[name]
            if isinstance(parameter, Choice) and isinstance(parameter.options, Mapping):
                changes |= parameter.options[value]
            else:
                changes |= dict.fromkeys(parameter.sets or [name], value)
        return changes

    def _judge(self, found: SweepResults, number: int, params: dict[str, Any], changes: dict[str, Any]) -> Trial:
        (point,) = found.select({"trial": str(number)})
        for name in [*self._goals, *[bound.metric for bound in self._bounds]]:
            found.estimate(point, name)  # tells unknown names
        metrics = {name: None if each is None else each.mean for name, each in point.metrics.items()}
        values = {name: metrics.get(name) for name in self._goals}
        measured = {name: value for name, value in values.items() if value is not None}
        feasible = all(bound.violation(metrics) <= 0 for bound in self._bounds)
        complete = measured if len(measured) == len(values) else {}
        return Trial(number, params, complete, metrics, feasible, self._set | changes)


@dataclass(frozen=True)
class _Bound:
    text: str
    metric: str
    least: bool
    value: float

    def violation(self, metrics: Mapping[str, float | None]) -> float:
        """Above zero if it is broken, the more the worse; what could not be measured is broken."""
        found = metrics.get(self.metric)
        if found is None:
            return float("inf")
        return self.value - found if self.least else found - self.value


def _bound(text: str) -> _Bound:
    parts = re.fullmatch(r"\s*([\w.\-]+)\s*(<=|>=)\s*([-+.\deE]+)\s*", text)
    if parts is None:
        raise ValueError(f'found the constraint "{text}", expected one like "total.drops <= 0"')
    metric, sign, value = parts.groups()
    try:
        return _Bound(text, metric, sign == ">=", float(value))
    except ValueError:
        raise ValueError(f'in the constraint "{text}", {value} is no number') from None


def _goals(minimize: str | Sequence[str], maximize: str | Sequence[str]) -> dict[str, Direction]:
    goals: dict[str, Direction] = {}
    each: tuple[tuple[str | Sequence[str], Direction], ...] = ((minimize, "minimize"), (maximize, "maximize"))
    for names, direction in each:
        for name in [names] if isinstance(names, str) else names:
            if name in goals:
                raise ValueError(f"{name} is a goal twice")
            goals[name] = direction
    if not goals:
        raise ValueError('there is no goal: minimize="dc.p99_slowdown"')
    return goals


def _sampler(optuna: Any, goals: int, sampler: Any, seed: int) -> Any:
    if sampler is not None:
        return sampler
    if goals > 1:
        return optuna.samplers.NSGAIISampler(seed=seed, population_size=20)
    return optuna.samplers.TPESampler(seed=seed)
