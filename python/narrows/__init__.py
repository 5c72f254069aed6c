"""A packet-level network simulator for congestion control where the data center meets the WAN.

>>> import narrows
>>> scenario = narrows.Scenario.template("leaf-spine")
>>> scenario["traffic.search.cc"] = {"cubic": {}}
>>> results = narrows.run(scenario, seed=7)
>>> results.summary["search.p99_slowdown"]
>>> results.flows.to_polars()

The keys of a scenario are those of scenario files; ``narrows explain`` and the guide explain them.
"""

from narrows._narrows import (
    ENGINE,
    Ack,
    Check,
    Column,
    Congestion,
    Diagnostic,
    Error,
    Estimate,
    Event,
    Hop,
    Limit,
    Message,
    NarrowsWarning,
    Network,
    Path,
    PointSummary,
    Reproduction,
    Results,
    Scenario,
    Table,
    Telemetry,
    __version__,
    interval,
)
from narrows._run import report, repro, run
from narrows._sweep import SweepResults, load_sweep, sweep
from narrows._tune import Choice, Integer, Quantity, Real, Trial, Tuned, tune
from narrows.controller import Controller

__all__ = [
    "ENGINE",
    "Ack",
    "Check",
    "Choice",
    "Column",
    "Congestion",
    "Controller",
    "Diagnostic",
    "Error",
    "Estimate",
    "Event",
    "Hop",
    "Integer",
    "Limit",
    "Message",
    "NarrowsWarning",
    "Network",
    "Path",
    "PointSummary",
    "Quantity",
    "Real",
    "Reproduction",
    "Results",
    "Scenario",
    "SweepResults",
    "Table",
    "Telemetry",
    "Trial",
    "Tuned",
    "__version__",
    "interval",
    "load_sweep",
    "plots",
    "report",
    "repro",
    "run",
    "sweep",
    "tune",
]


def __getattr__(name: str) -> object:
    # Plots need matplotlib, which is not needed for anything else and takes its time to load.
    if name == "plots":
        import importlib

        return importlib.import_module("narrows.plots")
    raise AttributeError(f"module 'narrows' has no attribute {name!r}")
