"""How fast the Python package is: importing, running, sweeping. Prints the tables of docs/speed.md.

    pip install '.[dask]'
    cargo build --release
    python docs/speed/python.py target/release/narrows
"""

from __future__ import annotations

import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import narrows

#: A run of some ten seconds.
LONG = {"stop.after": "1200 ms", "stop.drain": "0 s", "record": {}}
#: A run of some milliseconds.
SHORT = {
    "topology.leaf_spine.racks": 2,
    "topology.leaf_spine.hosts_per_rack": 4,
    "stop": {"after": "10 ms"},
    "measure.from": "1 ms",
    "record": {},
}


def scenario() -> narrows.Scenario:
    return narrows.Scenario.template("leaf-spine")


def seconds(command: list[str]) -> float:
    """User and system time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def importing() -> None:
    def once(code: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - began

    once("import narrows")
    pairs = [(once("import narrows"), once("pass")) for _ in range(15)]
    print(f"import narrows: {statistics.median(a - b for a, b in pairs) * 1e3:.0f} ms (median of 15)")


def running(command: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "long.toml", Path(folder) / "out"
        text.write_text(scenario().with_set(LONG).to_toml())
        code = f"import narrows; narrows.run({str(text)!r}).save({str(out)!r}, overwrite=True)"
        cli = [command, "run", str(text), "--quiet", "--out", str(out), "--overwrite"]
        pairs = [(seconds([sys.executable, "-c", code]), seconds(cli)) for _ in range(5)]
        start = statistics.median(seconds([sys.executable, "-c", "import narrows"]) for _ in range(5))
        ratios = [a / b for a, b in pairs]
        inside = [(a - start) / b for a, b in pairs]
        print(
            f"a run from Python costs {statistics.median(ratios):.3f} times that of the command "
            f"({statistics.median(inside):.3f} without the start of Python, {start * 1e3:.0f} ms); "
            f"the command takes {statistics.median(b for _, b in pairs):.1f} s of processor time"
        )


def sweeping(name: str, client: object, processes: Callable[[], list[int]]) -> None:
    def used() -> float:
        ticks = 0
        for process in processes():
            stat = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(stat[11]) + int(stat[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def idle() -> float:
        return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[4]) / os.sysconf("SC_CLK_TCK")

    with tempfile.TemporaryDirectory() as folder:
        before, rested, began = used(), idle(), time.perf_counter()
        found = narrows.sweep(
            {"traffic.search.pattern.poisson.load": [0.1 + 0.04 * step for step in range(20)]},
            scenario=scenario(),
            set=SHORT,
            seeds=50,
            out=Path(folder) / "out",
            client=client,
        )
        wall, cpu, rest = time.perf_counter() - began, used() - before, idle() - rested
        cells = found.tally["run"]
        busy = 1 - rest / (wall * 2)
        print(
            f"{name}: {cells} cells in {wall:.1f} s, {wall / cells * 1e3:.1f} ms each; processor time "
            f"{cpu / cells * 1e3:.1f} ms per cell, {cpu / wall / 2:.0%} of two cores (the machine: {busy:.0%} busy)"
        )


def on_dask() -> None:
    from distributed import Client

    arguments = ["--no-dashboard", "--host", "127.0.0.1"]
    module = [sys.executable, "-m", "distributed.cli.dask_scheduler", *arguments, "--port", "0"]
    scheduler = subprocess.Popen(module, stderr=subprocess.PIPE, text=True)
    assert scheduler.stderr is not None
    address = next(found.group() for line in scheduler.stderr if (found := re.search(r"tcp://[\d.:]+", line)))
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    workers = [subprocess.Popen([*worker, "--no-dashboard"], stderr=subprocess.DEVNULL) for _ in range(2)]
    try:
        with Client(address) as client:
            client.wait_for_workers(2)
            narrows.sweep({}, scenario=scenario(), set=SHORT, seeds=4, out=tempfile.mkdtemp() + "/warm", client=client)
            everyone = [os.getpid(), scheduler.pid, *[worker.pid for worker in workers]]
            sweeping("Dask, two workers", client, lambda: everyone)
    finally:
        for process in [*workers, scheduler]:
            process.kill()


if __name__ == "__main__":
    importing()
    running(sys.argv[1])
    sweeping("this machine", None, lambda: [os.getpid()])
    on_dask()
