"""From a question to the figure of a paper: three controls, three loads, five seeds."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Narrows: three controls")

with app.setup:
    from pathlib import Path

    import marimo as mo
    import polars as pl
    from matplotlib import pyplot as plt

    import narrows
    from narrows import plots

    out = Path("out/three-controls")


@app.cell
def _():
    mo.md("""
    # Three controls

    How much longer do flows take as a network of racks and spines fills up, with DCTCP, CUBIC and BBR? From the
    question to a figure for a paper takes three steps: a grid, a call, a plot.

    ## The grid

    An axis is a path with its values, or a name with options. Each option may change any number of settings.
    """)
    return


@app.cell
def _():
    grid = {
        "control": {
            "DCTCP": {"traffic.search.cc": {"dctcp": {}}},
            "CUBIC": {"traffic.search.cc": {"cubic": {}}},
            "BBR": {"traffic.search.cc": {"bbr": {}}},
        },
        "traffic.search.pattern.poisson.load": [0.3, 0.5, 0.7],
    }
    return (grid,)


@app.cell
def _():
    mo.md("""
    ## The call

    Every point runs with five seeds. A seed fixes the arrivals, so the three controls meet the same flows. All cores
    work on it; `jobs` says how many should.
    """)
    return


@app.cell
def _(grid):
    found = narrows.sweep(
        grid,
        scenario=narrows.Scenario.template("leaf-spine"),
        set={"stop.after": "40 ms"},
        seeds=5,
        name="three-controls",
        out=out,
    )
    found
    return (found,)


@app.cell
def _(found):
    mo.md(f"""
    This time {found.tally["run"]} of {found.tally["cells"]} cells were run, and {found.tally["found"]} were there
    already. A cell is a point with a seed; it is known by its scenario, its seed and the engine. Stop this notebook
    whenever you like, or add a load to the grid: the next call runs what is missing.

    ## The figure

    On the left the slowdown that one flow in twenty exceeds. On the right the median by size, at the highest load.
    Bands are 95 % confidence intervals over seeds; where they are wide, a seed has few flows of that size.
    """)
    return


@app.cell
def _(found, grid):
    load = max(grid["traffic.search.pattern.poisson.load"])
    with plots.style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.4))
        plots.sweep(found, x="load", y="search.p95_slowdown", by="control", ax=left)
        left.set(yscale="log", ylabel="slowdown, 95th percentile", xlabel="load of the links of hosts")
        plots.slowdown({name: found.runs(control=name, load=load) for name in grid["control"]}, percentile=50, ax=right)
        right.set(ylabel="slowdown, median", title=f"load {load}")
        figure.savefig(out / "figure.pdf")
        figure.savefig(out / "figure.png")
    figure
    return (load,)


@app.cell
def _():
    mo.md("""
    The PDF has the width of two columns and text of 8 points; `plots.style()` is the style sheet. For one column, leave
    `ax` out.

    ## What it says
    """)
    return


@app.cell
def _(found, grid):
    def verdict(metric, load):
        """Which control has the least, and whether the intervals of others reach there."""
        each = {name: found.metric(metric, control=name, load=load) for name in grid["control"]}
        best = min(each, key=lambda name: each[name].mean)
        apart = [name for name in each if each[name].low > each[best].high]
        close = [name for name in each if name not in (best, *apart)]
        text = (
            f"load {load}: {best} has the least, {each[best].mean:.1f} ({each[best].low:.1f} to {each[best].high:.1f})"
        )
        if apart:
            text += "; clearly more have " + ", ".join(f"{name} ({each[name].mean:.1f})" for name in apart)
        if close:
            text += "; not to be told apart from it with these seeds: " + ", ".join(
                f"{name} ({each[name].mean:.1f})" for name in close
            )
        return text

    mo.md(
        "The 95th percentile of the slowdown:\n\n"
        + "\n".join(f"- {verdict('search.p95_slowdown', load)}" for load in found.axes[found.axis("load")])
        + "\n\nGeometric means with 95 % intervals in brackets. "
        "Intervals that overlap do not prove that there is no difference. "
        "`until={…}` adds seeds until they are as narrow as you want."
    )
    return


@app.cell
def _():
    mo.md("""
    ## The data set

    The folder holds one Parquet file for each table, with the cell, the seed and the axes of each row in front. Does
    every flow finish, and what do queues look like?
    """)
    return


@app.cell
def _(found):
    summary = pl.read_parquet(found.table())
    summary.group_by("control", maintain_order=True).agg(
        cells=pl.len(),
        flows=pl.col("search.flows").sum(),
        unfinished=pl.col("search.unfinished").sum(),
        deepest_queue_kb=pl.col("total.max_queue_kb").max(),
        drops=pl.col("total.drops").sum(),
    )
    return


@app.cell
def _():
    mo.md("""
    ## The same on a cluster

    The call stays as it is; `client` says where. Cells are the same, and so are the bytes.

    ```python
    found = narrows.sweep(grid, scenario=…, seeds=5, client="tcp://10.0.0.1:8786")
    ```

    The address is that of a scheduler of Dask, started with `dask scheduler`; each machine has workers of
    `dask worker tcp://10.0.0.1:8786 --nworkers 16 --nthreads 1`. The guide says what they need.
    """)
    return


if __name__ == "__main__":
    app.run()
