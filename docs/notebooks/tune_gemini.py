"""Tuning GEMINI: its two thresholds, two goals that pull apart, and the front between them."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Narrows: tuning GEMINI")

with app.setup:
    from pathlib import Path

    import marimo as mo
    import polars as pl

    import narrows
    from narrows import plots

    out = Path("out/tune-gemini")
    out.mkdir(parents=True, exist_ok=True)


@app.cell
def _():
    mo.md("""
    # Tuning GEMINI

    GEMINI (Zeng et al., ICNP 2019) watches two things: marks of switches for the data center, and delay for the network
    between data centers. So it has two thresholds: *K*, the queue above which switches mark, and *T*, the delay above
    which the wide area counts as congested. Which values are good, if short flows inside the data center should be
    quick and long ones across the WAN should carry much?

    ## The network

    Two small data centers, web search traffic inside both, 24 long flows from one to the other. The WAN is as fast as
    one host, 4 ms there and back. What leads to it inside is four times as fast, so its queue is in the border router,
    which does not mark: only delay tells of it. Everything is smaller than real ones so that a search takes seconds.
    """)
    return


@app.cell
def _():
    scenario = narrows.Scenario.template("two-dc-mix")
    scenario.set(
        {
            "name": "gemini-mix",
            "stop.after": "140 ms",
            "measure.from": "40 ms",
            "measure.until": "120 ms",
            "topology.cross_dc.wan": {"rate": "10 Gb/s", "delay": "2 ms", "border_rate": "40 Gb/s"},
            "topology.cross_dc.fabric.leaf_spine.hosts_per_rack": 4,
            "switches.border.buffer.size": "2 MB",
            "traffic.wan.pattern.long_lived.flows": 24,
            "traffic.dc.cc": {"gemini": {"marking_threshold": "100 kB"}},
            "traffic.wan.cc": {"gemini": {"marking_threshold": "100 kB"}},
            "record": {},
        }
    )
    scenario.check()
    return (scenario,)


@app.cell
def _():
    mo.md("""
    ## The search

    A parameter may set several paths: *K* stands in the switches and in the control, which scales its cut with it.
    Optuna proposes settings, each runs with two seeds, and goals are means over them. The same search comes out the
    same, and started again it runs only what is missing.
    """)
    return


@app.cell
def _(scenario):
    def both(setting):
        return [f"traffic.{group}.cc.gemini.{setting}" for group in ("dc", "wan")]

    tuned = narrows.tune(
        scenario,
        {
            "K": narrows.Quantity(
                "4 kB", "400 kB", log=True, sets=["switches.default.marking.step.k", *both("marking_threshold")]
            ),
            "T": narrows.Quantity("50 us", "5 ms", log=True, sets=both("delay_threshold")),
        },
        minimize="dc.small_p99_fct_us",
        maximize="wan.goodput_gbps",
        trials=24,
        seeds=2,
        out=out / "cells",
    )
    return (tuned,)


@app.cell
def _(tuned):
    front = plots.front(tuned)
    front.set(
        xscale="log",
        xlabel="inside: 99th percentile of the time of\nflows up to 100 kB, µs (less is better)",
        ylabel="WAN: goodput, Gb/s\n(more is better)",
    )
    plots.save(front, out / "front.pdf", out / "front.png")
    front.figure
    return


@app.cell
def _():
    mo.md("""
    A point on the front cannot be made better in one goal without giving in the other. Everything else is beaten by a
    point of the front: not better in either, worse in at least one.
    """)
    return


@app.cell
def _(tuned):
    def amount(text, per):
        value, unit = text.split()
        return float(value) / per[unit]

    trials = pl.DataFrame(
        {
            "trial": [trial.number for trial in tuned.trials],
            "K, kB": [amount(trial.params["K"], {"B": 1e3}) for trial in tuned.trials],
            "T, us": [amount(trial.params["T"], {"ps": 1e6}) for trial in tuned.trials],
            "inside, us": [trial.values["dc.small_p99_fct_us"] for trial in tuned.trials],
            "WAN, Gb/s": [trial.values["wan.goodput_gbps"] for trial in tuned.trials],
        }
    )
    best = trials.filter(pl.col("trial").is_in([trial.number for trial in tuned.front])).sort("K, kB")
    best
    return best, trials


@app.cell
def _(best, trials):
    def rank(parameter, goal):
        return trials.select(pl.corr(parameter, goal, method="spearman")).item()

    _lines = [
        f"| {parameter} | {rank(parameter, 'inside, us'):+.2f} | {rank(parameter, 'WAN, Gb/s'):+.2f} |"
        for parameter in ("K, kB", "T, us")
    ]
    _matters = max(("K, kB", "T, us"), key=lambda each: abs(rank(each, "inside, us")))
    _above = trials.filter(pl.col("K, kB") > best["K, kB"].max())
    mo.md(
        f"""
    ## What it says

    Rank correlations over all {len(trials)} trials:

    | | time of short flows inside | goodput of the WAN |
    | --- | --- | --- |
    {_lines[0]}
    {_lines[1]}

    For short flows inside, {_matters.split(",")[0]} says more. Along the front K goes from
    {best["K, kB"].min():.0f} kB to {best["K, kB"].max():.0f} kB, their time from
    {best["inside, us"].min():.0f} to {best["inside, us"].max():.0f} µs, and the goodput of the
    WAN from {best["WAN, Gb/s"].min():.1f} to {best["WAN, Gb/s"].max():.1f} Gb/s.
    {len(_above)} trials had a larger K than any on the front: each of them was beaten.

    {len(trials)} trials with two seeds are a first look. Without any effect, about one correlation in twenty would
    still be beyond ±{1.96 / (len(trials) - 1) ** 0.5:.2f}; and K and T were not chosen independently of each other:
    their own correlation is {rank("K, kB", "T, us"):+.2f}. What does not matter in this network, with these 24
    flows, may matter in yours. Before you print a value, run the front again with more seeds: `narrows.sweep` takes
    `trial.changes` as an option of an axis.
    """
    )
    return


if __name__ == "__main__":
    app.run()
