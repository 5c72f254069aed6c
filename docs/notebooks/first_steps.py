"""First steps: a scenario, a run, its results, and what a mistake looks like."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Narrows: first steps")

with app.setup:
    from pathlib import Path

    import marimo as mo
    import polars as pl

    import narrows
    from narrows import plots

    out = Path("out/first-steps")
    out.mkdir(parents=True, exist_ok=True)


@app.cell
def _():
    mo.md("""
    # First steps

    Who waits on a network of racks and spines, and why? This notebook runs one scenario, looks at its flows and its
    queues, changes the congestion control, and looks again.

    ## A scenario

    A scenario says everything: the network, its switches, the traffic, and when to stop. Templates are scenarios to
    start from; `narrows list templates` in a terminal lists them. Values are reached by their path.
    """)
    return


@app.cell
def _():
    scenario = narrows.Scenario.template("leaf-spine")
    scenario["stop.after"] = "60 ms"
    scenario["traffic.search.pattern.poisson.load"] = 0.6
    scenario.check()
    return (scenario,)


@app.cell
def _(scenario):
    mo.md(f"""
    `check()` finds all mistakes without running anything, and says what the scenario comes to. A value that nobody has
    set is there as well: the round-trip time is not known to a sender before its first packet, so it starts with a
    window of {scenario["traffic.search.transport.initial_window"]} segments.

    ## A mistake

    A mistake is an exception. Its text says what was found, where, and what would be accepted; `narrows explain` with
    the code says more.
    """)
    return


@app.cell
def _(scenario):
    try:
        scenario["traffic.search.cc"] = {"dctpc": {}}
    except narrows.Error as error:
        mistake = error
    mo.plain_text(str(mistake))
    return (mistake,)


@app.cell
def _(mistake):
    mo.md(f"""
    A script reads the parts of it: `error.diagnostics[0].code` is `{mistake.diagnostics[0].code}`. The scenario is as
    it was before.

    ## A run

    The same scenario and the same seed give the same results, on any machine and with any number of threads.
    """)
    return


@app.cell
def _(scenario):
    dctcp = narrows.run(scenario, seed=7)
    dctcp
    return (dctcp,)


@app.cell
def _(dctcp):
    mo.md(f"""
    {dctcp.summary["search.flows"]:.0f} flows count: those that started after the first 5 ms. All others are in the
    tables as well, with `measured` false. `dctcp.summary` has all metrics by name, `narrows list metrics` says what
    they mean.

    ## Flows

    Every flow is a row. polars, pandas and DuckDB read the table as it is, without a copy. *Slowdown* is the completion
    time divided by that on the empty network, so that short and long flows can be compared.
    """)
    return


@app.cell
def _():
    def by_size(run):
        """Slowdown of flows by their size."""
        upper = {10e3: "up to 10 kB", 100e3: "to 100 kB", 1e6: "to 1 MB", float("inf"): "more"}
        size = pl.lit(None)
        for most, name in reversed(upper.items()):
            size = pl.when(pl.col("size_bytes") <= most).then(pl.lit(name)).otherwise(size)
        return (
            run.flows.to_polars()
            .filter("measured")
            .group_by(size.alias("size"))
            .agg(
                flows=pl.len(),
                median=pl.col("slowdown").median().round(2),
                p95=pl.col("slowdown").quantile(0.95).round(2),
                marked=(pl.col("marked_bytes").sum() / pl.col("size_bytes").sum()).round(4),
            )
            .sort(pl.col("size").replace_strict(list(upper.values()), range(len(upper))))
        )

    return (by_size,)


@app.cell
def _(by_size, dctcp):
    sizes = by_size(dctcp)
    sizes
    return (sizes,)


@app.cell
def _(sizes):
    _worst = sizes.sort("p95").tail(1)
    mo.md(f"""
    With DCTCP, flows of the class “{_worst["size"][0]}” wait most in relation to their size: for one in twenty of them
    the network seems at least {_worst["p95"][0]:.1f} times as slow as if it were empty.

    ## Another control, the same traffic

    `set` changes a run, not the scenario. The arrivals are the same: they depend on the seed, not on the control.
    """)
    return


@app.cell
def _(dctcp, scenario):
    cubic = narrows.run(scenario, seed=7, set={"traffic.search.cc": {"cubic": {}}})
    both = {"DCTCP": dctcp, "CUBIC": cubic}
    return both, cubic


@app.cell
def _(both):
    cdf = plots.cdf(both, complementary=True)
    plots.save(cdf, out / "completion-times.pdf", out / "completion-times.png")
    cdf.figure
    return


@app.cell
def _(by_size, cubic):
    by_size(cubic)
    return


@app.cell
def _(both):
    _p99 = {name: run.summary["search.small_p99_fct_us"] for name, run in both.items()}
    _drops = {
        name: sum(n for what, n in run.activity.items() if what.startswith("drops")) for name, run in both.items()
    }
    _fewer, _more = sorted(_p99, key=_p99.get)
    mo.md(f"""
    Of the flows up to 100 kB, one in a hundred takes longer than {_p99["DCTCP"] / 1e3:.2f} ms with DCTCP and longer
    than {_p99["CUBIC"] / 1e3:.2f} ms with CUBIC. {_fewer} is better for them here, by a factor of
    {_p99[_more] / _p99[_fewer]:.1f}. Packets dropped: {_drops["DCTCP"]} with DCTCP, {_drops["CUBIC"]} with CUBIC.

    One seed is one draw of the arrivals. The notebook `three_controls.py` repeats with several and shows how far such a
    number can be trusted.

    ## Queues

    The reason stands in the queues. The template records those of the rack switches; these are the ones to one host.
    """)
    return


@app.cell
def _(cubic, dctcp):
    from matplotlib import pyplot as plt

    # The port that ever held most with CUBIC, and the same port with DCTCP.
    deepest = cubic.table("queues").to_polars().sort("max_backlog_bytes").tail(1)
    port = f"{deepest['node'][0]}->{deepest['to'][0]}"
    with plots.style():
        figure, (above, below) = plt.subplots(2, sharex=True, figsize=(3.5, 3.2))
        plots.queues(dctcp, ports=port, ax=above).set(title=f"DCTCP, port {port}", xlabel="")
        plots.queues(cubic, ports=port, ax=below).set(title="CUBIC, the same port")
        above.set_xlim(0, 60)
    plots.save(above, out / "queues.pdf", out / "queues.png")
    figure
    return (port,)


@app.cell
def _(cubic, dctcp, port):
    _k = narrows.Scenario.parse(dctcp.scenario)["switches.tor.marking.step.k"]
    _node, _to = port.split("->")

    def _most(run):
        queues = run.table("queues").to_polars()
        here = queues.filter(pl.col("node").cast(str) == _node, pl.col("to").cast(str) == _to)
        return here["max_backlog_bytes"].max() / 1e3

    mo.md(f"""
    The switch marks packets once {_k} wait. DCTCP listens: at this port {_most(dctcp):.0f} kB waited at most. CUBIC
    does not, and stops growing when packets are lost: {_most(cubic):.0f} kB. The two scales differ.

    ## Keep it

    `save` writes what `narrows run` writes: tables as Parquet files, the summary, the scenario with every setting, and
    a report that opens in any browser. `narrows.Results.load` reads the folder again.
    """)
    return


@app.cell
def _(cubic, dctcp):
    dctcp.save(out / "dctcp", overwrite=True)
    cubic.save(out / "cubic", overwrite=True)
    mo.md(f"In `{out}`: " + ", ".join(f"`{path.name}`" for path in sorted(out.iterdir())))
    return


if __name__ == "__main__":
    app.run()
