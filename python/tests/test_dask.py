"""Sweeps on a cluster: a scheduler and two workers, each a process of its own, on the loopback."""

import gc
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import small_scenario
from distributed import Client
from test_sweep import GRID, tree

import narrows

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

#: Nothing here takes as long, unless something hangs.
PATIENCE = 60.0


def start(module: str, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--no-dashboard"]
    environment = os.environ | (environment or {})
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def drain(process: subprocess.Popen[str]) -> None:
    """Reads what a process has to say, so that it does not wait for a reader."""
    assert process.stderr is not None
    threading.Thread(target=process.stderr.read, daemon=True).start()


def connect(address: str) -> Client:
    """A client. Dask asserts that its thread starts within ten seconds; on a machine that stands still it may not."""
    try:
        return Client(address, timeout=PATIENCE)
    except AssertionError:
        return Client(address, timeout=PATIENCE)


class Cluster:
    """A scheduler and workers."""

    def __init__(self) -> None:
        self.scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
        self.workers: list[subprocess.Popen[str]] = []
        assert self.scheduler.stderr is not None
        for line in self.scheduler.stderr:
            if address := re.search(r"tcp://127\.0\.0\.1:\d+", line):
                self.address = address.group()
                break
        drain(self.scheduler)
        try:
            self.client = connect(self.address)
        except BaseException:
            # One that is left behind keeps its port, and the next cluster fails as well.
            self.scheduler.kill()
            raise

    def grow(self, workers: int, environment: dict[str, str] | None = None) -> None:
        for _ in range(workers):
            worker = start("dask_worker", self.address, "--nthreads", "1", "--no-nanny", environment=environment)
            drain(worker)
            self.workers.append(worker)
        self.client.wait_for_workers(len(self.workers), timeout=PATIENCE)

    def close(self) -> None:
        try:
            self.client.close()
        finally:
            for process in [*self.workers, self.scheduler]:
                process.kill()
                process.wait()
                assert process.stderr is not None
                process.stderr.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.close()


def after_some(cells: Path, count: int, act: Callable[[], None]) -> threading.Thread:
    """Acts as soon as there are some cells."""

    def watch() -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if cells.is_dir() and len(list(cells.iterdir())) >= count:
                return act()
            time.sleep(0.005)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_worker_that_is_killed_costs_nothing_but_time(cluster: Cluster, tmp_path: Path) -> None:
    cluster.grow(2)
    local = narrows.sweep(GRID, scenario=small_scenario(), seeds=20, out=tmp_path / "local")
    cells = tmp_path / "far" / "cells"
    there: dict[str, int] = {}

    def kill() -> None:
        cluster.workers[0].kill()
        there.update({path.name: path.stat().st_ino for path in cells.iterdir()})

    killer = after_some(cells, 15, kill)
    far = narrows.sweep(GRID, scenario=small_scenario(), seeds=20, out=tmp_path / "far", client=cluster.client)
    killer.join()
    assert 15 <= len(there) < 80, "the worker was killed in the middle"
    assert cluster.workers[0].wait() != 0
    assert {name: (cells / name).stat().st_ino for name in there} == there, "nothing is run twice"
    assert far.tally == {"cells": 80, "found": 0, "run": 80}
    assert tree(far.folder) == tree(local.folder)


def test_workers_that_do_not_see_the_folder_send_their_results(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from narrows import _dask

    cluster.grow(1)
    (tmp_path / "flows.csv").write_text("start,src,dst,bytes\n0 us,rack0/host0,rack1/host0,50 kB\n")
    scenario = small_scenario().with_set({"traffic.search.pattern": {"trace": {"file": "flows.csv"}}})
    (tmp_path / "s.toml").write_text(scenario.to_toml())
    stops = {"stop.after": ["2 ms", "3 ms"]}
    local = narrows.sweep(stops, scenario=tmp_path / "s.toml", seeds=3, out=tmp_path / "local")
    submit = _dask.Cluster.submit

    def blind(self: Any, task: str, files: Any, threads: int, store: str | None, id: str) -> Any:
        return submit(self, task, files, threads, "/nowhere/at/all", id)

    monkeypatch.setattr(_dask.Cluster, "submit", blind)
    far = narrows.sweep(stops, scenario=tmp_path / "s.toml", seeds=3, out=tmp_path / "far", client=cluster.address)
    assert tree(far.folder) == tree(local.folder)


def test_workers_with_another_engine_are_refused(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(narrows.Error, match="no workers"):
        narrows.sweep(GRID, scenario=small_scenario(), out=tmp_path / "out", client=cluster.client)
    cluster.grow(1)
    monkeypatch.setattr(narrows._narrows, "ENGINE", "0.0.1+other")
    with pytest.raises(narrows.Error, match=r"another engine than this one, 0\.0\.1\+other") as caught:
        narrows.sweep(GRID, scenario=small_scenario(), out=tmp_path / "out", client=cluster.client)
    assert narrows.ENGINE in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_workers_without_the_package_are_refused(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "narrows").mkdir()
    (tmp_path / "narrows" / "__init__.py").write_text("raise ModuleNotFoundError('narrows')")
    cluster.grow(1, environment={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(narrows.Error, match="narrows is not installed"):
        narrows.sweep(GRID, scenario=small_scenario(), out=tmp_path / "out", client=cluster.client)


def test_a_scheduler_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(narrows.Error, match="Start one with `dask scheduler`"):
        narrows.sweep(GRID, scenario=small_scenario(), out=tmp_path / "out", client="tcp://127.0.0.1:9")
    assert time.monotonic() - began < 4 * 5
    with pytest.raises(narrows.Error, match="no scheduler"):
        narrows.sweep(GRID, scenario=small_scenario(), out=tmp_path / "out", client="not an address")


def test_a_client_that_cannot_connect_is_closed_at_once(tmp_path: Path) -> None:
    # Otherwise the garbage collector closes it, and waits for ever if another client is just being made.
    with pytest.raises(narrows.Error, match="no scheduler"):
        narrows.sweep(GRID, scenario=small_scenario(), out=tmp_path / "out", client="not an address")
    clients = [thing for thing in gc.get_objects() if isinstance(thing, Client)]
    assert [client.status for client in clients if client.status != "closed"] == []


def test_a_scheduler_that_goes_away_leaves_what_is_finished(cluster: Cluster, tmp_path: Path) -> None:
    cluster.grow(1)
    cells = tmp_path / "far" / "cells"
    killer = after_some(cells, 5, cluster.scheduler.kill)
    with pytest.raises(narrows.Error, match="Finished cells are kept"):
        narrows.sweep(GRID, scenario=small_scenario(), seeds=50, out=tmp_path / "far", client=cluster.client)
    killer.join()
    kept = len(list(cells.iterdir()))
    assert kept >= 5
    rest = narrows.sweep(GRID, scenario=small_scenario(), seeds=50, out=tmp_path / "far")
    # What the worker had begun it may have put in its place meanwhile.
    assert kept <= rest.tally["found"] <= kept + 2
    assert rest.tally["found"] + rest.tally["run"] == 200
