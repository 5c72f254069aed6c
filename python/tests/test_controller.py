"""Congestion controls in Python: the same as built-in ones, beside them, and what goes wrong."""

import importlib.util
import pickle
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import hypothesis.strategies as st
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

import narrows

EXAMPLE = Path(__file__).parents[2] / "examples" / "python" / "dctcp.py"


def _example() -> Any:
    spec = importlib.util.spec_from_file_location("dctcp_example", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["dctcp_example"] = module
    spec.loader.exec_module(module)
    return module


Dctcp = _example().Dctcp


class Aimd(narrows.Controller):
    """One segment more per round, half at congestion."""

    ecn = "classic"

    def __init__(self, path: narrows.Path, *, decrease: float = 0.5) -> None:
        self.mss, self.cwnd, self.decrease = path.mss, float(path.initial_window), decrease

    def on_ack(self, ack: narrows.Ack) -> None:
        if ack.cwnd_limited and not ack.in_recovery:
            self.cwnd += self.mss * ack.acked / self.cwnd

    def on_congestion(self, now: float, event: narrows.Congestion) -> None:
        if event.kind != "spurious":
            self.cwnd = max(self.cwnd * self.decrease, self.mss)

    def limit(self) -> float:
        return self.cwnd


class Fixed(narrows.Controller):
    """Whatever the class says."""

    answer: ClassVar[Any] = 20_000

    def limit(self) -> Any:
        return self.answer


def network(**changes: Any) -> narrows.Scenario:
    """Two racks with marking; a run takes some milliseconds."""
    scenario = narrows.Scenario.template("leaf-spine")
    scenario.set(
        {
            "name": "controllers",
            "topology.leaf_spine.racks": 2,
            "topology.leaf_spine.hosts_per_rack": 4,
            "stop.after": "4 ms",
            "measure.from": "0 s",
            "traffic.search.pattern.poisson.sizes": "fb_hadoop",
            "switches.tor.marking.step.k": "15 kB",
            "record.windows": {"interval": "20 us", "flows": 100},
        }
    )
    scenario.set(changes)
    return scenario


def lossy() -> narrows.Scenario:
    """Clients that share one shallow queue, over connections that are kept."""
    return narrows.Scenario.parse(
        """
        version = 1
        name = "lossy"
        stop = { after = "60 ms", drain = "100 ms" }
        transport = { keep_connections = true, min_rto = "1 ms", initial_rto = "5 ms" }

        [topology.dumbbell]
        hosts = 4
        host_rate = "1 Gb/s"
        bottleneck_rate = "500 Mb/s"
        host_delay = "5 us"
        bottleneck_delay = "20 us"

        [switches.default]
        buffer = { size = "16 kB", sharing = "complete" }
        marking = { step = { k = "8 kB" } }

        [[traffic]]
        name = "search"
        cc = { dctcp = {} }
        [traffic.pattern.closed_loop]
        clients = 8
        sizes = { constant = "60 kB" }
        think = { constant = "100 us" }
        from = "left/*"
        to = "right/*"

        [record]
        windows = { interval = "50 us", flows = 100 }
        """
    )


def tables(results: narrows.Results) -> dict[str, pa.Table]:
    """All tables, without the name of the control."""
    found = {name: pa.table(results.table(name)) for name in results.table_names}
    return {n: t.drop_columns("control") if "control" in t.column_names else t for n, t in found.items()}


def rdma() -> narrows.Scenario:
    """Flows over RDMA."""
    return network(**{"traffic.search.rdma": {}})


@pytest.mark.parametrize("make", [network, lossy, rdma])
@pytest.mark.parametrize("options", [{}, {"gain": 0.25, "initial_alpha": 0.5, "min_window": 1}])
def test_dctcp_in_python_is_dctcp_to_the_byte(make: Any, options: dict[str, Any]) -> None:
    built_in = narrows.run(make(), set={"traffic.search.cc": {"dctcp": options}})
    in_python = narrows.run(make(), set={"traffic.search.cc": Dctcp.using(**options)})
    assert len(built_in.flows) > 20
    assert set(in_python.flows["control"].to_list()) == {"custom(Dctcp)"}
    one, other = tables(built_in), tables(in_python)
    assert one.keys() == other.keys() and len(one["windows"]) > 100
    for name in one:
        assert one[name].equals(other[name]), name
    assert built_in.activity == in_python.activity


def test_the_lossy_scenario_has_marks_losses_and_timeouts() -> None:
    found = narrows.run(lossy()).activity
    assert found["ECN marks"] > 0 and found["timeouts"] > 0 and found["drops: buffer full"] > 0, found


def test_it_stands_beside_built_in_controls_and_inside_annulus() -> None:
    long = {
        "name": "long",
        "pattern": {"long_lived": {"flows": 3, "size": "1 MB", "from": "rack0/*", "to": "rack1/*"}},
    }
    traffic = network()["traffic"]

    def run(control: Any, group: Any) -> dict[str, pa.Table]:
        content = {**_content(network()), "traffic": [traffic[0], {**long, "cc": group(control)}]}
        return tables(narrows.run(content))

    for group in (lambda cc: cc, lambda cc: {"annulus": {"end_to_end": cc}}):
        one, other = run({"dctcp": {}}, group), run(Dctcp, group)
        assert all(one[name].equals(other[name]) for name in one)


def _content(scenario: narrows.Scenario) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(scenario.to_toml())


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same(threads: int) -> None:
    scenario = network(**{"traffic.search.cc": Aimd})
    one, more = tables(narrows.run(scenario)), tables(narrows.run(scenario, threads=threads))
    assert all(one[name].equals(more[name]) for name in one)


def test_runs_side_by_side_do_not_meet() -> None:
    scenario = network(**{"traffic.search.cc": Aimd})
    broken = network(**{"traffic.search.cc": Broken})

    def run(number: int) -> Any:
        try:
            return narrows.run(broken if number % 2 else scenario).summary
        except ZeroDivisionError:
            return "broken"

    alone = narrows.run(scenario).summary
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(8))) == [alone, "broken"] * 4


def test_there_are_three_ways_to_name_it() -> None:
    by_class = narrows.run(network(), set={"traffic.search.cc": Aimd.using(decrease=0.7)})
    named = {"custom": {"name": "mine", "settings": {"decrease": 0.7}}}
    by_name = narrows.run(network(), set={"traffic.search.cc": named}, controllers={"mine": Aimd})
    scenario = network()
    scenario["traffic.search.cc"] = Aimd
    scenario["traffic.search.cc.custom.settings.decrease"] = 0.7
    assert scenario.controllers == {"Aimd": Aimd}
    assert by_class.summary == by_name.summary == narrows.run(scenario).summary
    other = narrows.run(network(), set={"traffic.search.cc": Aimd})
    assert other.summary != by_class.summary, "settings arrive"


def test_a_scenario_takes_its_controls_along_when_it_is_pickled() -> None:
    scenario = network(**{"traffic.search.cc": Aimd})
    again = pickle.loads(pickle.dumps(scenario))
    assert again.controllers == {"Aimd": Aimd}
    assert narrows.run(again).summary == narrows.run(scenario).summary


def test_the_scenario_as_it_was_run_notes_the_code() -> None:
    def noted(control: Any) -> str:
        text = narrows.run(network(), set={"traffic.search.cc": control}).scenario
        (line,) = [line for line in text.splitlines() if line.startswith("code = ")]
        return line

    class Other(Aimd):
        pass

    before = noted(Other)
    assert noted(Other) == before and before.startswith('code = "python ')
    assert noted(Aimd) != before
    Other.step = 2
    assert noted(Other) != before
    del Other.step
    assert noted(Other) == before
    Other.version = "2"
    assert noted(Other) != before


def test_code_without_a_source_is_told_apart_by_its_byte_code() -> None:
    def make(body: str) -> Any:
        space: dict[str, Any] = {"narrows": narrows, "__name__": "nowhere"}
        exec(f"class Typed(narrows.Controller):\n    def limit(self):\n        return {body}\n", space)
        return space["Typed"]

    codes = set()
    for body in ("10_000", "20_000", "max(1, 20_000)", "10_000"):
        codes.add(narrows.run(network(), set={"traffic.search.cc": make(body)}).scenario.split("code = ")[1][:30])
    assert len(codes) == 3


def test_methods_that_are_not_defined_are_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("called")

    before = narrows.run(network(), set={"traffic.search.cc": {"fixed": {"window": "20 kB"}}}).flows
    for name in ("on_ack", "on_congestion", "on_handshake", "on_idle"):
        monkeypatch.setattr(narrows.Controller, name, fail)
    after = narrows.run(network(), set={"traffic.search.cc": Fixed}).flows
    assert after["fct_ps"].to_list() == before["fct_ps"].to_list()


class Broken(Aimd):
    """Divides by zero after a while."""

    def on_ack(self, ack: narrows.Ack) -> None:
        if ack.delivered > 30_000:
            self.here = 1 // (ack.lost * 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_ends_the_run_and_comes_out_as_it_is(threads: int) -> None:
    long = {"traffic.search.cc": Broken, "stop.after": "100 ms"}
    with pytest.raises(ZeroDivisionError) as caught:
        narrows.run(network(), set=long, threads=threads)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "on_ack" and frames[-1].line == "self.here = 1 // (ack.lost * 0)"
    assert Path(frames[-1].filename).name == "test_controller.py"


def test_an_exception_at_the_beginning_of_a_connection_comes_out_as_it_is() -> None:
    class Picky(Aimd):
        def __init__(self, path: narrows.Path) -> None:
            raise LookupError("no")

    with pytest.raises(LookupError, match=r"^no$"):
        narrows.run(network(), set={"traffic.search.cc": Picky})


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ("20 kB", TypeError, "Fixed.limit returned '20 kB' (str), expected a Limit, or a number of bytes"),
        (None, TypeError, "Fixed.limit returned None, expected a Limit"),
        (float("nan"), ValueError, "Fixed.limit returned nan, expected a Limit, or a number of bytes that"),
        (-1, ValueError, "Fixed.limit returned -1, expected"),
        (-(10**30), ValueError, "Fixed.limit returned -1000000000000000000000000000000, expected"),
        ([1], TypeError, r"Fixed.limit returned [1] (list), expected"),
    ],
)
def test_answers_of_no_use_are_named(
    monkeypatch: pytest.MonkeyPatch, answer: Any, error: type[Exception], message: str
) -> None:
    monkeypatch.setattr(Fixed, "answer", answer)
    with pytest.raises(error) as caught:
        narrows.run(network(), set={"traffic.search.cc": Fixed})
    assert str(caught.value).startswith(message)


def test_limits_are_read_as_numbers_are_in_python() -> None:
    import numpy as np

    limit = narrows.Limit(cwnd=1500.9, pacing=np.float64(2e9))
    assert (limit.cwnd, limit.pacing, repr(limit)) == (1500, 2_000_000_000, "Limit(cwnd=1500, pacing=2000000000)")
    assert limit == narrows.Limit(1500, 2_000_000_000) != narrows.Limit(1500)
    assert narrows.Limit(np.int64(7)).cwnd == 7
    assert narrows.Limit(float("inf")).cwnd == narrows.Limit(10**40).cwnd == 2**64 - 1
    for wrong in (float("nan"), -1, -0.5):
        with pytest.raises(ValueError, match=r"^cwnd is .*, expected a number of bytes that is not negative$"):
            narrows.Limit(wrong)
    with pytest.raises(TypeError, match=r"^pacing is '1 Gb/s' \(str\), expected a rate in bit/s"):
        narrows.Limit(1, "1 Gb/s")  # type: ignore[arg-type]


LIMITS = st.one_of(
    st.integers(min_value=-1, max_value=2**70),
    st.floats(min_value=-1.0),
    st.builds(lambda c, p: (c, p), st.integers(0, 2**64), st.one_of(st.none(), st.floats(0, 1e30))),
    st.sampled_from(["", None]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(answers=st.lists(LIMITS, min_size=1, max_size=8), timers=st.lists(st.floats(-1, 1) | st.none(), max_size=4))
def test_no_limit_and_no_timer_stop_a_run(answers: list[Any], timers: list[float | None]) -> None:
    class Random(narrows.Controller):
        def __init__(self, path: narrows.Path) -> None:
            self.calls = 0

        def on_ack(self, ack: narrows.Ack) -> None:
            self.calls += 1

        def on_congestion(self, now: float, event: narrows.Congestion) -> None:
            self.calls += 1

        def on_timer(self, now: float) -> None:
            self.calls += 1

        def next_timer(self) -> float | None:
            return timers[self.calls % len(timers)] if timers else None

        def limit(self) -> Any:
            answer = answers[self.calls % len(answers)]
            return narrows.Limit(*answer) if isinstance(answer, tuple) else answer

    changes = {"traffic.search.cc": Random, "stop.after": "500 us", "measure.from": "0 s"}
    for more in ({}, {"traffic.search.rdma": {}}):
        try:
            narrows.run(network(), set={**changes, **more})
        except (TypeError, ValueError) as error:
            assert str(error).startswith("Random.limit returned"), error


def test_settings_that_it_does_not_have_are_refused_before_the_run() -> None:
    with pytest.raises(narrows.Error) as caught:
        narrows.run(network(), set={"traffic.search.cc": Aimd.using(decreas=0.7)})
    assert caught.value.diagnostics[0].code == "N0161"
    assert "Aimd refuses its settings: got an unexpected keyword argument 'decreas'" in str(caught.value)


def test_a_control_that_was_not_given_is_refused() -> None:
    changes = {"traffic.search.cc": {"custom": {"name": "mime"}}}
    with pytest.raises(narrows.Error, match='did you mean "mine"'):
        narrows.run(network(), set=changes, controllers={"mine": Aimd})
    with pytest.raises(narrows.Error, match="controllers="):
        narrows.run(network(), set=changes)


def test_what_is_no_control_is_refused() -> None:
    class Nothing(narrows.Controller):
        pass

    class Misspelt(Aimd):
        ecn = "acurate"  # type: ignore[assignment]

    cases: list[tuple[Any, type[Exception], str]] = [
        (int, TypeError, "a congestion control is a subclass of narrows.Controller, int is none"),
        (Aimd(_path()), TypeError, "a value of a scenario cannot be a Aimd"),
        (Nothing, TypeError, r"Nothing has no method limit\(\)"),
        (Misspelt, ValueError, "Misspelt.ecn = 'acurate'; did you mean \"accurate\"\\? known: off, classic"),
    ]
    for value, error, message in cases:
        with pytest.raises(error, match=message):
            network()["traffic.search.cc"] = value


def _path() -> Any:
    """A path, caught in a run."""
    paths = []

    class Catcher(Fixed):
        def __init__(self, path: narrows.Path) -> None:
            paths.append(path)

    narrows.run(network(), set={"traffic.search.cc": Catcher, "stop.after": "100 us", "measure.from": "0 s"})
    return paths[0]


def test_two_classes_of_one_name_are_told_apart() -> None:
    scenario = network(**{"traffic.search.cc": Aimd})
    mine = Aimd

    def other() -> Any:
        class Aimd(mine):
            pass

        return Aimd

    with pytest.raises(ValueError, match="two controllers are called Aimd"):
        scenario["traffic.search.cc"] = other()
    assert narrows.run(scenario, controllers={"Aimd": other()}).complete


def test_what_is_told_can_be_read() -> None:
    heard: dict[str, Any] = {}

    class Curious(Aimd):
        ecn = "classic"

        def __init__(self, path: narrows.Path) -> None:
            super().__init__(path)
            heard["path"] = path

        def on_handshake(self, now: float, rtt: float) -> None:
            heard["handshake"] = (now, rtt)

        def on_idle(self, now: float, idle: float, restart: int | None) -> None:
            heard["idle"] = (now, idle, restart)

        def on_ack(self, ack: narrows.Ack) -> None:
            heard["ack"] = ack
            super().on_ack(ack)

        def on_congestion(self, now: float, event: narrows.Congestion) -> None:
            heard[event.kind] = (now, event)
            super().on_congestion(now, event)

    narrows.run(lossy(), set={"traffic.search.cc": Curious})
    path, ack = heard["path"], heard["ack"]
    assert path.mss == 1448 and path.link == 1_000_000_000 and path.initial_window == 14_480
    assert repr(path).startswith("Path(mss=1448, initial_window=14480")
    assert ack.now == ack.now_ps / 1e12 and ack.srtt == ack.srtt_ps / 1e12 > 5e-5
    assert ack.rtt is None or ack.rtt == ack.rtt_ps / 1e12
    assert ack.inflight_before >= ack.inflight and ack.sent >= ack.delivered >= ack.acked > 0
    assert ack.delivery_rate is None or 0 < ack.delivery_rate < 1e9
    assert repr(ack).startswith("<Ack at ")
    now, rtt = heard["handshake"]
    assert 5e-5 < rtt < now
    now, idle, restart = heard["idle"]
    assert 0 < idle < now and restart in (None, 14_480)
    assert {"mark", "loss", "timeout"} <= heard.keys()
    now, event = heard["timeout"]
    assert round(now * 1e12) == event.now_ps and event.flight_size > 0
    assert repr(event).startswith("<Congestion timeout: ")


def test_what_rdma_tells_arrives() -> None:
    class Alert(narrows.Controller):
        ecn = "cnp"
        reads_telemetry = True
        heard: ClassVar[list[str]] = []
        hops: ClassVar[list[Any]] = []

        def __init__(self, path: narrows.Path) -> None:
            self.at: float | None = None

        def on_sent(self, now: float, size: int) -> None:
            assert size > 0
            self.at = self.at or now + 10e-6
            self.heard.append("sent")

        def on_cnp(self, now: float) -> None:
            self.heard.append("cnp")

        def on_telemetry(self, now: float, telemetry: narrows.Telemetry) -> None:
            self.hops.extend(telemetry.hops)
            self.heard.append("telemetry")

        def on_timer(self, now: float) -> None:
            assert now == self.at, "the very number that next_timer returned"
            self.at = now + 10e-6
            self.heard.append("timer")

        def next_timer(self) -> float | None:
            return self.at

        def limit(self) -> narrows.Limit:
            return narrows.Limit(300_000, 10e9)

    scenario = rdma()
    scenario.set({"switches.default.telemetry": True, "switches.tor.telemetry": True})
    narrows.run(scenario, set={"traffic.search.cc": Alert})
    assert set(Alert.heard) == {"sent", "cnp", "telemetry", "timer"}
    assert {hop.rate for hop in Alert.hops} == {10**10, 4 * 10**10}
    assert any(hop.queue > 0 for hop in Alert.hops)
    with pytest.raises(narrows.Error, match=r"custom\(Alert\) needs RDMA"):
        narrows.run(network(), set={"traffic.search.cc": Alert})


def test_a_sweep_varies_controls_and_their_settings(tmp_path: Path) -> None:
    grid = {"traffic.search.cc": [Aimd, Aimd.using(decrease=0.8), {"dctcp": {}}]}
    asked = {"scenario": network(), "seeds": 2, "out": tmp_path / "here", "progress": False}
    found = narrows.sweep(grid, jobs=2, **asked)
    assert found.tally == {"cells": 6, "found": 0, "run": 6}
    with ThreadPoolExecutor(2) as pool:
        again = narrows.sweep(grid, **{**asked, "out": tmp_path / "there"}, executor=pool)
    assert [point.cells for point in again] == [point.cells for point in found]
    for one, other in zip(found, again, strict=True):
        assert {n: e and e.mean for n, e in one.metrics.items()} == {n: e and e.mean for n, e in other.metrics.items()}
    assert narrows.sweep(grid, jobs=2, **asked).tally["run"] == 0


def test_an_exception_in_a_sweep_comes_out_as_it_is(tmp_path: Path) -> None:
    grid = {"traffic.search.cc": [Broken, {"dctcp": {}}]}
    with pytest.raises(ZeroDivisionError):
        narrows.sweep(grid, scenario=network(), out=tmp_path, jobs=1, progress=False)
