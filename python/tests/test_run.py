"""Runs: the same as the command's, without Python's lock, ended by Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest

import narrows


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "narrows", *arguments], cwd=cwd, capture_output=True, text=True)


def test_a_run_gives_what_the_command_gives(scenario: narrows.Scenario, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(scenario.to_toml())
    done = command("run", "small.toml", "--seed", "5", "--out", "cli", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    narrows.run(tmp_path / "small.toml", seed=5).save(tmp_path / "python")
    names = sorted(path.name for path in (tmp_path / "cli").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "python").iterdir())
    for name in names:
        assert (tmp_path / "cli" / name).read_bytes() == (tmp_path / "python" / name).read_bytes(), name


def test_the_command_answers_with_its_exit_code(tmp_path: Path) -> None:
    assert command("list", "controls", cwd=tmp_path).returncode == 0
    wrong = command("run", "nowhere.toml", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "cannot read nowhere.toml" in wrong.stderr
    assert command("--no-such-flag", cwd=tmp_path).returncode == 2


def test_the_text_of_an_error_is_the_one_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('version = 1\nname = "x"\nsped = 1\n')
    printed = command("check", "bad.toml", cwd=tmp_path).stderr
    with pytest.raises(narrows.Error) as caught:
        before = Path.cwd()
        os.chdir(tmp_path)
        try:
            narrows.run("bad.toml")
        finally:
            os.chdir(before)
    assert str(caught.value) in printed


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_gives_the_same(scenario: narrows.Scenario, threads: int) -> None:
    one, more = narrows.run(scenario), narrows.run(scenario, threads=threads)
    assert pa.table(one.flows).equals(pa.table(more.flows))
    assert one.summary == more.summary


def test_a_seed_and_changes_are_for_one_run_only(scenario: narrows.Scenario) -> None:
    before = scenario.to_toml()
    results = narrows.run(scenario, seed=17, set={"traffic.search.cc": {"cubic": {}}})
    assert results.seed == 17
    assert set(results.flows["control"].to_list()) == {"cubic"}
    assert scenario.to_toml() == before


def test_other_threads_go_on_while_a_run_lasts(scenario: narrows.Scenario) -> None:
    turns = 0
    over = threading.Event()

    def count() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            over.wait(0.0005)

    counter = threading.Thread(target=count)
    counter.start()
    narrows.run(scenario, set={"stop.after": "100 ms"})
    over.set()
    counter.join()
    assert turns > 10


def test_progress_rises_and_may_end_a_run(scenario: narrows.Scenario) -> None:
    told: list[float] = []
    narrows.run(scenario, set={"stop.after": "400 ms"}, progress=told.append)
    assert told == sorted(told)
    assert all(0 <= done <= 1 for done in told)

    class Enough(Exception):
        pass

    def stop(done: float) -> None:
        raise Enough

    with pytest.raises(Enough):
        narrows.run(scenario, set={"stop.after": "100 s", "record": {}}, force=True, progress=stop)


def test_ctrl_c_ends_a_run(tmp_path: Path) -> None:
    code = """
import narrows, sys
scenario = narrows.Scenario.template("leaf-spine")
try:
    long = {"stop.after": "1000 s", "record": {}, "traffic.search.pattern": {"long_lived": {"flows": 8}}}
    narrows.run(scenario, set=long, force=True, progress=lambda done: print("begun", flush=True))
except KeyboardInterrupt:
    print("interrupted")
"""
    run = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "begun\n"
    run.send_signal(signal.SIGINT)
    rest, _ = run.communicate(timeout=60)
    assert rest.endswith("interrupted\n")
    assert run.returncode == 0


def test_what_is_no_scenario_is_refused() -> None:
    with pytest.raises(TypeError, match="found int"):
        narrows.run(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads = 0"):
        narrows.run(narrows.Scenario.template("dumbbell"), threads=0)


def test_a_run_that_needs_more_memory_than_there_is_is_refused() -> None:
    scenario = narrows.Scenario.template("dumbbell")
    full = {"topology.dumbbell.bottleneck_rate": "10 Tb/s", "topology.dumbbell.bottleneck_delay": "1000 s"}
    with pytest.raises(narrows.Error, match="memory"):
        narrows.run(scenario, set=full)


def test_nothing_else_is_loaded_with_the_package() -> None:
    heavy = ["numpy", "matplotlib", "pandas", "polars", "pyarrow", "distributed", "optuna", "tqdm"]
    code = f"import sys, narrows; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_a_paper_is_repeated_and_judged(tmp_path: Path) -> None:
    reproduction = narrows.repro("bcn", figure="3", quick=True, seeds=1)
    assert 0 < sum(reproduction.tally.values()) <= len(reproduction.claims)
    reproduction.save(tmp_path / "repro")
    assert (tmp_path / "repro" / "claims.json").exists()
    with pytest.raises(narrows.Error, match="did you mean"):
        narrows.repro("gemni")


def test_experiments_with_an_undecided_claim_get_more_seeds_than_others(tmp_path: Path) -> None:
    narrows.repro("rackcc", figure="3b").save(tmp_path / "repro")
    details = json.loads((tmp_path / "repro" / "claims.json").read_text())["details"]
    assert [details[claim]["samples"] for claim in ("coop-p30", "coop-p100")] == [10, 5]


def test_a_paper_may_be_a_folder() -> None:
    example = Path(__file__).parents[2] / "examples" / "dctcp-queue"
    reproduction = narrows.repro(example, figure="Thresholds", quick=True)
    assert [claim["id"] for claim in reproduction.claims] == ["k5-throughput"]
