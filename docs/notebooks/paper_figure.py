"""A figure of a paper, repeated: what the paper claims, what comes out here, and the charts."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Narrows: a figure of a paper")

with app.setup:
    from pathlib import Path

    import marimo as mo
    from matplotlib import pyplot as plt

    import narrows
    from narrows import plots

    out = Path("out/paper-figure")
    out.mkdir(parents=True, exist_ok=True)


@app.cell
def _():
    mo.md("""
    # A figure of a paper

    Narrows repeats the experiments of five papers. This notebook repeats one figure: Figure 5 of GEMINI (Zeng et al.,
    ICNP 2019). It asks whether DCTCP can have one marking threshold that suits both flows inside a data center and
    flows between data centers.

    One seed is for a look, not for a verdict: five are the default. `quick=True` is shorter still and leaves
    experiments out.
    """)
    return


@app.cell
def _():
    reproduction = narrows.repro("gemini", figure=5, seeds=1)
    figure = reproduction.figures[0]
    mo.md(f"## {figure['name']}\n\n{figure['title']}")
    return figure, reproduction


@app.cell
def _():
    mo.md("""
    ## Claims

    What the paper says, as a number, next to what was measured. `match` and `shape` are claims that hold, in
    numbers or in their shape; `miss` is one that does not.
    """)
    return


@app.cell
def _(reproduction):
    def _row(claim):
        measured = "—" if claim["measured"] is None else f"{claim['measured']:.3g}"
        return f"| {claim['statement']} | {claim['source']} | {claim['reported']} | {measured} | {claim['verdict']} |"

    _rows = [_row(claim) for claim in reproduction.claims]
    mo.md("| claim | where | reported | measured | verdict |\n| --- | --- | --- | --- | --- |\n" + "\n".join(_rows))
    return


@app.cell
def _(reproduction):
    _tally = reproduction.tally
    _total = sum(_tally.values())
    _missed = [claim["statement"] for claim in reproduction.claims if claim["verdict"] == "miss"]
    mo.md(
        f"Of {_total} claims {_tally['match']} match, {_tally['shape']} hold in their shape, {_tally['miss']} are "
        "missed"
        + (": " + "; ".join(_missed) if _missed else "")
        + ". With one seed, a number close to the limit of its claim may fall on either side with another."
    )
    return


@app.cell
def _():
    mo.md("""
    ## Charts

    Each figure comes with the points of its charts, so they can be drawn as the rest of your paper is.
    """)
    return


@app.cell
def _(figure):
    with plots.style():
        drawn, axes = plt.subplots(1, len(figure["charts"]), figsize=(3 * len(figure["charts"]), 2.4), squeeze=False)
        for number, ax in enumerate(axes[0]):
            plots.chart(figure, number, ax=ax)
            for line in ax.get_lines():
                line.set_marker("o")
        drawn.savefig(out / "figure-5.pdf")
        drawn.savefig(out / "figure-5.png")
    drawn
    return


@app.cell
def _(reproduction):
    reproduction.save(out / "reproduction", overwrite=True)
    mo.md(f"""
    ## Keep it

    `save` writes a report, `claims.json`, and the scenarios, which run by themselves: `narrows run` takes them. They
    are in `{out / "reproduction"}`. For the whole of it, with five seeds each, leave `seeds` and `figure` out, or type
    `narrows repro gemini`.
    """)
    return


if __name__ == "__main__":
    app.run()
