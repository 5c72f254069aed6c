"""A congestion control of one's own, in Python: next to the built-in one, and beside another."""

import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Narrows: a control of your own")

with app.setup:
    import time
    from pathlib import Path

    import marimo as mo
    import numpy as np
    from matplotlib import pyplot as plt

    import narrows
    from narrows import plots

    out = Path("out/own-control")
    out.mkdir(parents=True, exist_ok=True)


@app.cell
def _():
    mo.md("""
    # A control of your own

    An idea can be tried in Python before it is written in Rust: a subclass of `narrows.Controller` hears of
    acknowledgments and congestion and answers with a window. The simulator finds losses, counts rounds and sends.

    This is additive increase, multiplicative decrease. With `decrease=0.5` it is meant to be Reno (RFC 5681).
    """)
    return


@app.class_definition
class Aimd(narrows.Controller):
    """A segment more each round; the part `decrease` of what was outstanding stays after a loss."""

    def __init__(self, path, *, decrease=0.5):
        self.mss, self.cwnd, self.decrease = path.mss, path.initial_window, decrease
        self.ssthresh = float("inf")
        self.credit = 0  # acknowledged toward the next segment
        self.step = 2 * path.mss  # the most that an acknowledgment adds in slow start (RFC 3465)
        self.before = None

    def on_ack(self, ack):
        if ack.in_recovery or not ack.cwnd_limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += min(ack.acked, self.step)
            return
        self.credit += ack.acked
        if self.credit >= self.cwnd:
            self.credit -= self.cwnd
            self.cwnd += self.mss

    def on_congestion(self, now, event):
        if event.kind == "spurious":  # nothing was lost after all
            if self.before is not None:
                self.cwnd, self.ssthresh = max(self.cwnd, self.before[0]), max(self.ssthresh, self.before[1])
                self.before = None
            return
        rest = max(int(min(event.flight_size, self.cwnd) * self.decrease), 2 * self.mss)
        if not event.repeated:
            self.before = self.cwnd, self.ssthresh
            self.ssthresh = rest
        if event.kind == "timeout":
            self.cwnd, self.step = self.mss, self.mss
        else:
            self.cwnd = rest
        self.credit = 0

    def limit(self):
        return self.cwnd


@app.cell
def _():
    mo.md("""
    ## Is it Reno?

    Four long flows share 100 Mb/s, over a path of 20 ms there and back. First with the built-in Reno, then with the
    class above, which stands in the scenario like the name of a control.
    """)
    return


@app.cell
def _():
    scenario = narrows.Scenario.template("dumbbell")
    scenario["stop.after"] = "10 s"

    def timed(control):
        began = time.perf_counter()
        run = narrows.run(scenario, set={"traffic.reno.cc": control, "traffic.cubic.cc": control})
        return run, time.perf_counter() - began

    built_in, quick = timed({"reno": {}})
    in_python, slow = timed(Aimd)
    return built_in, in_python, quick, scenario, slow


@app.cell
def _(built_in, in_python):
    with plots.style():
        figure, axes = plt.subplots(2, sharex=True, sharey=True, figsize=(3.5, 3.4))
        for ax, (name, run) in zip(
            axes, {"Reno, built in": built_in, "Aimd, in Python": in_python}.items(), strict=True
        ):
            plots.windows(run, flows=[0, 1], ax=ax)
            ax.set_title(name)
            ax.get_legend().remove()
        axes[0].set(xlabel="", xlim=(0, 10_000))
        figure.savefig(out / "windows.pdf")
        figure.savefig(out / "windows.png")
    figure
    return


@app.cell
def _(built_in, in_python, quick, slow):
    _one, _other = (run.table("windows")["cwnd_bytes"].to_numpy().astype(float) for run in (built_in, in_python))
    _same = len(_one) == len(_other) and np.array_equal(_one, _other)
    if _same:
        _text = f"All {len(_one)} recorded windows are the same, to the byte."
    else:
        _least = min(len(_one), len(_other))
        _differ = np.mean(_one[:_least] != _other[:_least])
        _text = (
            f"{_differ:.1%} of the recorded windows differ; their means are {_one.mean() / 1e3:.1f} kB and "
            f"{_other.mean() / 1e3:.1f} kB. So it is like Reno, and not the same."
        )
    mo.md(f"""
    {_text}

    Every acknowledgment calls Python, and that has a price: the run took {slow:.2f} s instead of {quick:.2f} s on this
    machine, just now. It grows with the number of acknowledgments; the guide has numbers.

    ## Beside another

    Now the question that the class was made for: if it gave away less at a loss, would it hold its ground beside CUBIC?
    Two flows of each share the bottleneck. `using` sets parameters.
    """)
    return


@app.cell
def _(scenario):
    decreases = [0.5, 0.6, 0.7, 0.8, 0.9]

    def share(decrease):
        """The part of the goodput that the class gets beside CUBIC."""
        run = narrows.run(
            scenario, set={"traffic.reno.cc": Aimd.using(decrease=decrease), "measure.from": "2 s"}
        ).summary
        return run["reno.goodput_gbps"] / (run["reno.goodput_gbps"] + run["cubic.goodput_gbps"])

    shares = [share(decrease) for decrease in decreases]
    return decreases, shares


@app.cell
def _(decreases, scenario, shares):
    _run = narrows.run(scenario, set={"measure.from": "2 s"}).summary
    native = _run["reno.goodput_gbps"] / (_run["reno.goodput_gbps"] + _run["cubic.goodput_gbps"])
    with plots.style():
        drawn, _ax = plt.subplots()
        _ax.plot(decreases, shares, marker="o", label="Aimd")
        _ax.plot([0.5], [native], marker="x", markersize=7, linestyle="none", color="C1", label="Reno, built in")
        _ax.axhline(0.5, color="0.5", linestyle=":", label="equal shares")
        _ax.set(xlabel="what is left after a loss", ylabel="share beside CUBIC", ylim=(0, 1))
        _ax.legend()
        drawn.savefig(out / "shares.pdf")
        drawn.savefig(out / "shares.png")
    drawn
    return


@app.cell
def _(decreases, shares):
    _nearest = min(zip(decreases, shares, strict=True), key=lambda each: abs(each[1] - 0.5))
    mo.md(f"""
    With half of the window left after a loss, the class gets {shares[0]:.0%} of the goodput beside CUBIC; with
    {decreases[-1]:.0%} left it gets {shares[-1]:.0%}. Nearest to equal shares is {_nearest[0]}
    with {_nearest[1]:.0%}. Shares
    {"rise with each step" if shares == sorted(shares) else "do not rise with each step"} of the parameter.

    This is one bottleneck with one buffer and one round-trip time, and the flows begin at the same moment: a reason to
    go on, not a result. `narrows.sweep` takes the class as well.
    """)
    return


if __name__ == "__main__":
    app.run()
