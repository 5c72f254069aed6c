"""The part of the package in Rust."""

import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, final

import numpy.typing as npt

from narrows.controller import Controller

__version__: str
#: The version with a fingerprint of the sources: the same engine gives the same results.
ENGINE: str

class Error(Exception):
    """An input that makes no sense, or results that cannot be read or written.

    The text is what the command ``narrows`` prints; ``diagnostics`` has its parts.
    """

    diagnostics: tuple[Diagnostic, ...]

class NarrowsWarning(UserWarning):
    """Something suspicious about a scenario, a sweep or a run.

    The text begins with the code that ``narrows explain`` knows; ``diagnostic`` has its parts.
    """

    diagnostic: Diagnostic | None

@final
class Diagnostic:
    """One thing that is wrong with an input, or suspicious."""

    def __new__(
        cls,
        code: str,
        severity: str,
        message: str,
        help: str | None = None,
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> Self: ...
    @property
    def code(self) -> str:
        """``narrows explain CODE`` says more."""
    @property
    def severity(self) -> str:
        """``"error"`` or ``"warning"``."""
    @property
    def message(self) -> str:
        """Message: what was found, and what is wrong with it."""
    @property
    def help(self) -> str | None:
        """Help: what would be accepted, if that is known."""
    @property
    def source(self) -> str | None:
        """The text it is in, usually a path, if it is in one."""
    @property
    def line(self) -> int | None:
        """Its line there, counted from 1."""
    @property
    def column(self) -> int | None:
        """Its column there, counted from 1."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __getnewargs__(self) -> tuple[str, str, str, str | None, str | None, int | None, int | None]: ...

@final
class Path:
    """Facts of a connection that its controller receives before the first packet."""

    @property
    def mss(self) -> int:
        """Payload of a full segment, in bytes."""
    @property
    def initial_window(self) -> int:
        """Window before the first acknowledgment, in bytes."""
    @property
    def packet(self) -> int:
        """A full segment on the wire, headers and framing included, in bytes."""
    @property
    def link(self) -> int:
        """Rate of the sender's own link, in bit/s."""
    @property
    def seed(self) -> int:
        """Where random choices begin, another for every connection: ``random.Random(path.seed)``."""

@final
class Ack:
    """One acknowledgment, digested."""

    @property
    def now(self) -> float:
        """When it arrived, in seconds."""
    @property
    def now_ps(self) -> int:
        """The same in whole picoseconds."""
    @property
    def rtt(self) -> float | None:
        """Round-trip time in seconds of the segment sent last among those acknowledged here.

        None if it had been sent twice.
        """
    @property
    def rtt_ps(self) -> int | None:
        """The same in whole picoseconds."""
    @property
    def srtt(self) -> float:
        """Smoothed round-trip time in seconds, including this sample."""
    @property
    def srtt_ps(self) -> int:
        """The same in whole picoseconds."""
    @property
    def acked(self) -> int:
        """Payload known for the first time to have arrived, in or out of order."""
    @property
    def marked(self) -> int:
        """The part of ``acked`` that was reported as marked."""
    @property
    def inflight(self) -> int:
        """Payload still on its way after this acknowledgment."""
    @property
    def inflight_before(self) -> int:
        """Payload that was on its way before it."""
    @property
    def sent(self) -> int:
        """Payload sent since the connection began, repetitions included."""
    @property
    def delivered(self) -> int:
        """Payload delivered since the connection began, including ``acked``."""
    @property
    def lost(self) -> int:
        """Payload given up as lost since the connection began, needlessly or not."""
    @property
    def delivery_rate(self) -> int | None:
        """Rate at which data arrived while the segment was on its way, in bit/s; None without a sample."""
    @property
    def app_limited(self) -> bool:
        """The sender had nothing more to send at some time of that flight.

        The path may be faster than ``delivery_rate``.
        """
    @property
    def round_start(self) -> bool:
        """A round trip has passed: it acknowledges data sent after the previous one with ``round_start``."""
    @property
    def cwnd_limited(self) -> bool:
        """The window stopped the sender in this round or the one before. If not, it should not grow."""
    @property
    def in_recovery(self) -> bool:
        """A lost segment is being repaired, or this echoes a mark: the window should not grow."""

@final
class Congestion:
    """A sign of congestion."""

    @property
    def kind(self) -> Literal["loss", "mark", "timeout", "spurious"]:
        """Events and how often they happened.

        ``"loss"`` comes once per recovery; ``"mark"`` once per round, with ``ecn = "classic"`` only; ``"spurious"``
        says that the last loss or timeout was none.
        """
    @property
    def flight_size(self) -> int:
        """Payload sent and not acknowledged cumulatively, just before; 0 if spurious."""
    @property
    def repeated(self) -> bool:
        """The timer had expired for the same segment before."""
    @property
    def now_ps(self) -> int:
        """When, in whole picoseconds."""

@final
class Telemetry:
    """Records of switches in the packet that the next acknowledgment answers."""

    @property
    def path(self) -> int:
        """The same for packets that took the same way."""
    @property
    def hops(self) -> list[Hop]:
        """One record for each switch that writes, in order; five at the most."""

@final
class Hop:
    """Record of one switch."""

    @property
    def rate(self) -> int:
        """Rate of the link the packet left on, in bit/s."""
    @property
    def queue(self) -> int:
        """Backlog of its queue, in bytes, to 80 B below."""
    def time_since(self, earlier: Hop) -> float | None:
        """Seconds since an earlier record of the same port, to the nanosecond.

        None if it is not earlier, or by more than 8.4 ms.
        """
    def sent_since(self, earlier: Hop) -> int:
        """Bytes the port has sent since an earlier record of it, to about 128 B."""

@final
class Limit:
    """Limits of a connection."""

    def __new__(cls, cwnd: float, pacing: float | None = None) -> Self: ...
    @property
    def cwnd(self) -> int:
        """Payload that may be on its way, in bytes."""
    @property
    def pacing(self) -> int | None:
        """Rate at which packets may leave, in bit/s, headers included; None if only the window limits."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Check:
    """Outcome of the check of a scenario."""

    @property
    def warnings(self) -> list[Diagnostic]:
        """Warnings about the scenario."""
    @property
    def memory_bytes(self) -> int:
        """An upper estimate of the memory a run needs."""
    @property
    def facts(self) -> dict[str, Any]:
        """Numbers of the network and its traffic, as ``narrows check --json`` has them: ``groups`` with base
        round-trip times, bottlenecks and bandwidth-delay products, from the least pair of hosts to the most;
        ``ports`` with buffers and thresholds;
        ``oversubscription`` by class of switches."""

@final
class Scenario:
    """An experiment: a network, its traffic and its mechanisms. The keys are those of scenario files."""

    def __new__(cls, content: dict[str, Any]) -> Self: ...
    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Read a scenario file."""
    @classmethod
    def template(cls, name: str) -> Scenario:
        """A scenario that is built in; ``narrows list templates`` has their names."""
    @classmethod
    def parse(cls, text: str, *, name: str = "scenario", folder: str | os.PathLike[str] | None = None) -> Scenario:
        """Read a scenario from a text. Files it names are looked for in ``folder``."""
    def __getitem__(self, path: str, /) -> Any:
        """The value at a path such as ``"traffic.web.cc"``, those that were left out included."""
    def __setitem__(self, path: str, value: Any, /) -> None:
        """Change the value at a path: ``scenario["traffic.web.cc"] = {"cubic": {}}``."""
    def set(self, changes: Mapping[str, Any] | Sequence[str] | str) -> None:
        """Change several values at once: a dict by path, or texts "path=value" as the command takes them."""
    def with_set(self, changes: Mapping[str, Any] | Sequence[str] | str) -> Scenario:
        """The same with changes; see :meth:`set`."""
    def with_controllers(self, controllers: dict[str, type[Controller]]) -> Scenario:
        """The same with congestion controls of Python, by the names it has for them."""
    @property
    def controllers(self) -> dict[str, type[Controller]]:
        """Congestion controls of Python, by the names it has for them."""
    def check(self) -> Check:
        """Find all mistakes, and report what the scenario comes to. Nothing is run.

        What is suspicious is also reported as :class:`NarrowsWarning`.
        """
    def to_toml(self) -> str:
        """The scenario as TOML, with every setting, those that were left out included."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def seed(self) -> int:
        """Its seed."""
    @property
    def folder(self) -> os.PathLike[str]:
        """Where files are looked for that it names."""
    def copy(self) -> Scenario:
        """A scenario that may be changed without changing this one."""
    def __copy__(self) -> Scenario: ...
    def __deepcopy__(self, _memo: Any) -> Scenario: ...
    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[str, os.PathLike[str], dict[str, Any]]]: ...
    @staticmethod
    def _restore(text: str, folder: str | os.PathLike[str], controllers: dict[str, Any]) -> Scenario: ...

@final
class Column:
    """A column of a table."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def unit(self) -> str:
        """The unit of its values; empty for counts, fractions and names."""
    @property
    def meaning(self) -> str:
        """Meaning of its values."""
    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    def to_numpy(self) -> npt.NDArray[Any]:
        """Its values as an array of numpy.

        Numbers come without a copy and are read-only. If some may be missing they are real numbers, with NaN in
        their place. Names are objects.
        """
    def to_list(self) -> list[Any]:
        """Its values as a list; what is missing is None."""

@final
class Table:
    """A table of results.

    polars, pandas, pyarrow, DuckDB and whatever else reads Arrow data take it as it is, without a copy.
    A column is ``table["fct_ps"]``, and an array of numpy is ``numpy.asarray(table["start_ps"])``.
    """

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> Column: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...
    def to_pyarrow(self) -> Any:
        """It as a table of pyarrow."""
    def to_polars(self) -> Any:
        """It as a data frame of polars."""
    def to_pandas(self) -> Any:
        """It as a data frame of pandas.

        Names are categories. Columns in which some values may be missing are real numbers, with NaN in their place.
        """
    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """It as a dict of arrays of numpy."""

@final
class Results:
    """The results of one run."""

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Results:
        """Read the folder of a run, as :meth:`save` and ``narrows run`` write it."""
    @property
    def summary(self) -> dict[str, float | None]:
        """Metrics by name; None if there is nothing to take one of. ``narrows list metrics`` says what they are."""
    @property
    def activity(self) -> dict[str, int]:
        """Events, and how often they happened."""
    @property
    def info(self) -> dict[str, Any]:
        """Everything that stands in ``run.json``."""
    @property
    def warnings(self) -> list[Diagnostic]:
        """Suspicious settings, and traffic that was stopped for too long.

        Those of a folder have a code and a message only.
        """
    @property
    def seed(self) -> int:
        """The seed of the run."""
    @property
    def name(self) -> str:
        """The name of the scenario."""
    @property
    def complete(self) -> bool:
        """The run was not interrupted."""
    @property
    def scenario(self) -> str:
        """The scenario as it was run, as TOML with every setting.

        Files that it names are in ``inputs/`` of the folder of the results.
        """
    @property
    def table_names(self) -> list[str]:
        """Names of the tables there are."""
    def table(self, name: str) -> Table:
        """A table by name.

        ``"flows"`` and ``"ports"`` are always there, ``"queues"``, ``"links"``, ``"windows"`` and others if they
        were recorded. ``narrows list tables`` has them all.
        """
    @property
    def flows(self) -> Table:
        """All flows that started."""
    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a folder as ``narrows run`` does: tables as Parquet files, run.json, scenario.toml, report.html.

        Files that the scenario names go to ``inputs/``, as they were when it was run.
        """
    def report(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the report, a page that opens in any browser."""
    def _repr_html_(self) -> str: ...

@final
class Event:
    """Something that has happened to a message or a timer of a :class:`Network`."""

    @property
    def kind(self) -> Literal["delivered", "sent", "failed", "timer"]:
        """Its kind.

        ``"delivered"``: the last byte has arrived. ``"sent"``: the source knows that. ``"failed"``: the sender has
        given up.
        """
    @property
    def time_ps(self) -> int:
        """When it happened, in picoseconds."""
    @property
    def id(self) -> int:
        """Number of the message or timer."""
    @property
    def tag(self) -> int:
        """Tag that the message or timer was given."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Message:
    """A message of a :class:`Network`, as far as it has come. Times are in picoseconds."""

    @property
    def src(self) -> str:
        """Name of the host that sends."""
    @property
    def dst(self) -> str:
        """Name of the host that receives."""
    @property
    def traffic(self) -> str:
        """Name of its traffic group."""
    @property
    def bytes(self) -> int:
        """Payload."""
    @property
    def tag(self) -> int:
        """Its tag."""
    @property
    def start_ps(self) -> int:
        """When it starts."""
    @property
    def delivered_ps(self) -> int | None:
        """When the last byte had arrived."""
    @property
    def sent_ps(self) -> int | None:
        """When the source knew."""
    @property
    def failed(self) -> bool:
        """The sender has given up."""
    @property
    def fct_ps(self) -> int | None:
        """Time from the start to the delivery."""
    @property
    def ideal_ps(self) -> int:
        """The same alone on the empty network."""
    @property
    def acknowledged_bytes(self) -> int:
        """Payload that the source knows to have arrived."""
    @property
    def retransmissions(self) -> int:
        """Segments retransmitted."""
    @property
    def timeouts(self) -> int:
        """Expiries of the retransmission timer."""
    @property
    def marked_bytes(self) -> int:
        """Payload acknowledged as marked."""

@final
class Network:
    """A simulated network that a program sends messages through, in virtual time.

    >>> network = narrows.Network("ranks.toml", seed=1)
    >>> network.send("host0", "host1", 1_000_000, traffic="ranks", tag=7)
    >>> while event := network.next():
    ...     print(event)

    Time stands still until :meth:`next` or :meth:`advance`, and stops at the very moment of an event: what is sent then
    starts then. The same scenario, seed and calls give the same events.

    :param scenario: a :class:`Scenario`, the path of a scenario file, or a dict with its keys. Messages belong to one
        of its traffic groups; the pattern of one without traffic of its own is ``attached = {}``.
    :param seed: instead of the scenario's own.
    :raises narrows.Error: if the scenario makes no sense.
    """

    def __new__(
        cls, scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any], *, seed: int | None = None
    ) -> Self: ...
    @property
    def hosts(self) -> list[str]:
        """Names of the hosts, in the order of their numbers."""
    @property
    def now_ps(self) -> int:
        """Now, in picoseconds."""
    @property
    def end_ps(self) -> int:
        """When the run ends: the scenario's ``stop.after`` and ``stop.drain``."""
    def send(
        self, src: int | str, dst: int | str, bytes: int, *, traffic: str | None = None, tag: int = 0, delay_ps: int = 0
    ) -> int:
        """Send a message from a host to another, ``delay_ps`` from now, and return its number.

        :param src: host by name or number.
        :param bytes: payload. A message of 0 bytes is a packet with one byte.
        :param traffic: the traffic group whose transport carries it; the first of the scenario if left out.
        :param tag: events of the message have it.
        :raises narrows.Error: if it cannot be sent.
        """
    def schedule(self, delay_ps: int, *, tag: int = 0) -> int:
        """Set a timer that is due ``delay_ps`` from now, and return its number."""
    def cancel(self, timer: int) -> bool:
        """Take a timer back. False if it was due already, or has been taken back."""
    def next(self, until_ps: int | None = None) -> Event | None:
        """Go on to the next event, ``until_ps`` at the latest, and return it; None if there is none until then.

        Events that time was advanced over come first. Events of one moment: messages by host and number, then timers as
        they were set.
        """
    def advance(self, until_ps: int) -> None:
        """Go on to ``until_ps``, or the end of the run. Events on the way wait for :meth:`next`."""
    def message(self, message: int) -> Message:
        """A message, as far as it has come."""
    def totals(self) -> dict[str, int]:
        """Sums over the run so far: messages, delivered, sent, failed, delivered_bytes, packet_hops."""
    def finish(self) -> Results:
        """End the run now. Its results have a flow for each message; other calls raise ``ValueError`` from then on."""

@final
class Reproduction:
    """Results of repeating the experiments of a paper."""

    @property
    def claims(self) -> list[dict[str, Any]]:
        """All claims with what the paper reports and what was measured, as ``claims.json`` holds them."""
    @property
    def info(self) -> dict[str, Any]:
        """Everything that stands in ``claims.json``."""
    @property
    def tally(self) -> dict[str, int]:
        """Number of claims of the paper by verdict: match, calibrated, shape, explained, open or miss."""
    @property
    def figures(self) -> list[dict[str, Any]]:
        """Figures and tables with their claims and the points of their charts."""
    def markdown(self) -> str:
        """The page in Markdown."""
    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a folder as ``narrows repro`` does: report.html, report.md, claims.json, measured.json, scenarios."""

@final
class Estimate:
    """Estimate of a metric from the runs of a point."""

    @property
    def mean(self) -> float:
        """The central value: the geometric mean if all runs have more than 0, the arithmetic mean otherwise."""
    @property
    def interval(self) -> tuple[float, float] | None:
        """The bounds of its 95 % confidence interval; None with fewer than three runs, and if one has 0."""
    @property
    def low(self) -> float | None:
        """The lower bound; None if there is no interval."""
    @property
    def high(self) -> float | None:
        """The upper bound; None if there is no interval."""
    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value of a run."""
    @property
    def samples(self) -> int:
        """Number of runs."""
    def __float__(self) -> float: ...

@final
class PointSummary:
    """A point of a grid: its values, its cells, and what they measured."""

    @property
    def values(self) -> dict[str, Any]:
        """Its value on each axis."""
    @property
    def cells(self) -> list[str]:
        """Ids of its cells, by seed."""
    @property
    def metrics(self) -> dict[str, Estimate | None]:
        """Its metrics over all seeds; None if there was nothing to take one of."""
    @property
    def marks(self) -> dict[str, str]:
        """Marks of metrics that are less certain than their digits.

        † leaves out unfinished flows, ‡ of few flows, § seeds fall into two groups.
        """

@final
class Sweep:
    """Request for a sweep."""

    def __new__(
        cls,
        name: str,
        scenario: Scenario,
        *,
        set: dict[str, Any],
        grid: dict[str, Any],
        seeds: int | None,
        until: dict[str, Any] | None,
    ) -> Self: ...
    @classmethod
    def load(cls, path: str | os.PathLike[str], *, seeds: int | None) -> Sweep:
        """Read a ``sweep.toml``."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def controllers(self) -> dict[str, tuple[type[Controller], str]]:
        """Controls of Python that its cells name, with the versions of their code: what ``run_task`` takes."""
    def check_size(self, wanted: bool) -> None:
        """Refuse very many cells unless they are wanted."""

@final
class Campaign:
    """Progress of a sweep, and the cells to be run next."""

    def __new__(
        cls,
        sweep: Sweep,
        folder: str | os.PathLike[str],
        *,
        jobs: int,
        threads: int,
        retries: int,
        force: bool,
    ) -> Self: ...
    def warn(self, calls: int) -> None:
        """Tell what was found in its folder and what is suspicious about its points.

        Warnings name the function so many calls above the caller.
        """
    def run(self, *, progress: Callable[[float, int, int], object] | None) -> None:
        """Run all cells on the cores of this machine."""
    def next(self) -> tuple[str, str] | None:
        """The next cell: its id, and the task to be run, as text; None if there is none until others have ended."""
    def files(self) -> dict[str, bytes]:
        """The files that scenarios name, by the hash of their content."""
    def has(self, id: str) -> bool:
        """Whether the results of a cell are there."""
    def put(self, id: str, files: Mapping[str, bytes]) -> None:
        """Put results that come from elsewhere in their place."""
    def done(self, id: str) -> None:
        """A cell has been run, and its results are there."""
    def failed(self, id: str, reason: str) -> None:
        """A cell could not be run."""
    def progress(self) -> tuple[float, int, int]:
        """The fraction that is done, the cells that are, and how many there are."""
    def failures(self) -> list[tuple[str, str]]:
        """Cells that could not be run, and why."""
    def tally(self) -> dict[str, int]:
        """Number of cells in all, of those found, and of those run."""
    def close(self) -> None:
        """Let go of the folder; what is not finished is removed from it."""
    def finish(self) -> list[PointSummary]:
        """Write the data set, and report what each point measured."""

def run_task(
    task: str,
    files: Mapping[str, bytes],
    threads: int,
    store: str | os.PathLike[str] | None,
    controllers: Mapping[str, Any] | None = None,
) -> dict[str, bytes] | None:
    """Run a cell, with controls of Python by the names it has for them.

    Its results go into the store in the folder ``store`` if it is in reach from here, and are returned if it is not.
    """

def quantity(text: str) -> tuple[int, str]:
    """A time, a size or a rate as a whole number of its smallest unit (ps, B, b/s), and that unit."""

def load_sweep(folder: str | os.PathLike[str]) -> tuple[list[PointSummary], int, int]:
    """The sweep in a folder: its points that have a cell, how many cells there are to be, and how many there are."""

def sweep_table(points: Sequence[PointSummary]) -> tuple[list[str], list[tuple[int, str, list[str]]], list[str]]:
    """The points of a sweep as the command shows them.

    Names of metrics; for each traffic group of each point the number of the point, the group, and its metrics as
    texts; the meaning of marks in these.
    """

def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that is most like another, if any is."""

def run(
    scenario: Scenario,
    *,
    seed: int | None,
    threads: int,
    force: bool,
    progress: Callable[[float, float, int], object] | None,
) -> Results:
    """Run a scenario; see :func:`narrows.run`."""

def reproduce(
    paper: str,
    *,
    figure: str | None,
    quick: bool,
    seeds: int | None,
    jobs: int,
    progress: Callable[[int, int], object] | None,
) -> Reproduction:
    """Repeat a paper; see :func:`narrows.repro`."""

def papers() -> list[tuple[str, str]]:
    """Names and titles of the papers that can be repeated."""

def distributions(runs: Sequence[Results]) -> list[dict[str, Any]]:
    """Completion times and slowdowns of each group over runs, with confidence intervals."""

def comparison_html(cells: Sequence[tuple[str, Sequence[Results]]]) -> str:
    """Metrics of several cells, each with a name and its runs, as a table in HTML."""

def comparison_text(cells: Sequence[tuple[str, Sequence[Results]]]) -> str:
    """Metrics of several cells, each with a name and its runs: a table, what differs, and what that changes."""

def comparison_report(
    title: str, cells: Sequence[tuple[str, Sequence[Results]]], path: str | os.PathLike[str], overwrite: bool
) -> None:
    """Write the report of several cells, each with a name and its runs."""

def folder_report(
    folders: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None,
    metrics: Sequence[str],
    by: str | None,
    overwrite: bool,
) -> pathlib.Path:
    """Write the page of what folders hold; see :func:`narrows.report`."""

def interval(values: Iterable[float], metric: str | None = None) -> tuple[float, tuple[float, float] | None] | None:
    """The central value of a metric over runs, and the bounds of its 95 % confidence interval.

    :param metric: its name, ``"dc.p99_slowdown"``: then the bounds end at what it can be, as those of a sweep do.

    Values above 0 are taken as lognormal: their geometric mean, and Student's t of their logarithms. There are no
    bounds of fewer than three values, nor if one is 0, where the value is the arithmetic mean. With negative values
    among them both are arithmetic. Nothing of no values.
    """

def main(arguments: Sequence[str]) -> int:
    """The command ``narrows``; answers with its exit code."""
