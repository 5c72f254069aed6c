"""The tables and pictures of docs/guide/which-control.md, from the cells of docs/which-full.toml and docs/which-pairs.toml.

    python docs/which/page.py [FOLDER PAIRS]

With the folders of the sweeps their cells are written to docs/which/cells.csv and pairs.csv first. Needs matplotlib, and pyarrow for
the folders.
"""

import csv
import json
import math
import statistics
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
CELLS = HERE / "cells.csv"
PAIRS = HERE / "pairs.csv"
RULES = HERE / "rules.toml"
PAGE = HERE.parent / "guide" / "which-control.md"
PICTURES = HERE.parent / "guide" / "pictures"

# Metric: its name in files, its title, whether less is better.
METRICS = {
    "dc.mean_slowdown": ("dc-mean", "slowdown of web search flows inside a data center, mean", True),
    "dc.p99_slowdown": ("dc-p99", "the same, 99th percentile", True),
    "incast.p99_slowdown": ("incast", "slowdown of the flows of an incast, 99th percentile", True),
    "wan.mean_slowdown": ("wan", "slowdown of web search flows between data centers, mean", True),
    "bulk.goodput_gbps": ("bulk", "goodput of eight bulk flows over the WAN, Gb/s", False),
}
COUNTS = ["total.drops", "total.unfinished"]
# The metric of the stopping rule, and the half width that it asks for.
STOPS = ("dc.mean_slowdown", 0.1)
# Quantiles of Student's t for 95 %, by degrees of freedom from 1.
T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201]


def collect(folder: Path, sweep: str, columns: list[str], kept: Path) -> None:
    """Writes the cells of a sweep, a row each."""
    import pyarrow.parquet as parquet

    rows = parquet.read_table(folder / "summary.parquet", columns=columns).to_pylist()
    engine = json.loads((folder / "sweep.json").read_text())["engine"]
    with kept.open("w", newline="") as file:
        file.write(f"# cargo xtask which; narrows sweep docs/{sweep}.toml; engine {engine}\n")
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: short(value) for key, value in row.items()})


def short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else value


class Cells:
    """Values by control, place and metric, in the order of seeds."""

    def __init__(self) -> None:
        first, *lines = CELLS.read_text().splitlines()
        self.made_by = first.removeprefix("# ")
        self.values: dict[tuple[str, str], list[dict[str, str]]] = {}
        for row in csv.DictReader(lines):
            self.values.setdefault((row["control"], row["place"]), []).append(row)
        self.controls = list(dict.fromkeys(control for control, _ in self.values))
        self.places = list(dict.fromkeys(place for _, place in self.values))

    def of(self, control: str, place: str, metric: str) -> dict[int, float]:
        rows = self.values[control, place]
        return {int(row["seed"]): float(row[metric]) for row in rows if row[metric] != ""}

    def interval(self, control: str, place: str, metric: str) -> tuple[float, float, float] | None:
        """Mean and 95 % interval, of logarithms; without an interval where a value is 0."""
        values = list(self.of(control, place, metric).values())
        if not values:
            return None
        mean = statistics.fmean(values)
        if len(values) < 3 or min(values) <= 0:
            return mean, math.nan, math.nan
        low, high = span([math.log(value) for value in values])
        return mean, math.exp(low), math.exp(high)

    def ratio(self, one: list[str], other: list[str], metric: str) -> tuple[float, float, float]:
        """The ratio of two settings over seeds that both have, with its 95 % interval."""
        a, b = self.of(*one, metric), self.of(*other, metric)
        logs = [math.log(a[seed] / b[seed]) for seed in a if seed in b and a[seed] > 0 and b[seed] > 0]
        if len(logs) < 3:
            return math.nan, math.nan, math.nan
        low, high = span(logs)
        return math.exp(statistics.fmean(logs)), math.exp(low), math.exp(high)

    def converged(self, control: str, place: str) -> bool:
        found = self.interval(control, place, STOPS[0])
        return found is not None and (found[2] - found[1]) / 2 <= STOPS[1] * found[0]


def span(values: list[float]) -> tuple[float, float]:
    mean, error = statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))
    half = T[min(len(values) - 1, len(T)) - 1] * error
    return mean - half, mean + half


def digits(value: float) -> str:
    if math.isnan(value):
        return "–"
    text = f"{value:.3g}"
    return f"{float(text):,.0f}".replace(",", " ") if abs(value) >= 1000 else f"{float(text):g}"


def draw(cells: Cells) -> None:
    """A picture for each metric: a panel for each place, a row for each control."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 8, "font.family": "sans-serif"})
    for metric, (name, title, less) in METRICS.items():
        across = 5
        down = math.ceil(len(cells.places) / across)
        figure, axes = plt.subplots(down, across, figsize=(11, 2.5 * down), sharex=True, sharey=True, squeeze=False)
        for panel, place in zip(axes.flat, cells.places, strict=False):
            for row, control in enumerate(cells.controls):
                found = cells.interval(control, place, metric)
                if found is None or found[0] <= 0:
                    continue
                mean, low, high = found
                face = "tab:blue" if cells.converged(control, place) else "white"
                if not math.isnan(low):
                    panel.plot([low, high], [row, row], color="tab:blue", linewidth=1)
                panel.plot(mean, row, "o", color="tab:blue", markerfacecolor=face, markersize=4)
            panel.set_title(place, fontsize=8)
            panel.set_xscale("log")
            panel.grid(axis="x", which="major", linewidth=0.4)
        for panel in list(axes.flat)[len(cells.places):]:
            panel.set_axis_off()
        axes[0, 0].set_yticks(range(len(cells.controls)), cells.controls)
        axes[0, 0].invert_yaxis()
        figure.suptitle(f"{title} ({'less' if less else 'more'} is better)", fontsize=9)
        figure.tight_layout()
        figure.savefig(PICTURES / f"which-{name}.png", dpi=110, metadata={"Software": None})
        plt.close(figure)


def table(cells: Cells, metric: str) -> str:
    """Means by control and place."""
    lines = ["| | " + " | ".join(cells.places) + " |", "| --- |" + " ---: |" * len(cells.places)]
    for control in cells.controls:
        row = []
        for place in cells.places:
            found = cells.interval(control, place, metric)
            mark = "" if cells.converged(control, place) else "°"
            row.append("–" if found is None else f"{digits(found[0])}{mark}")
        lines.append(f"| {control} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def shares() -> str:
    """By pair of controls and place: the part of the goodput of both that the first has, in percent, over seeds."""
    parts: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in csv.DictReader(PAIRS.read_text().splitlines()[1:]):
        a, b = (float(row[f"{group}.goodput_gbps"] or 0) for group in "ab")
        parts.setdefault((row["place"], row["control"]), {}).setdefault(row["beside"], []).append(100 * a / (a + b))
    rivals = list(next(iter(parts.values())))
    lines = ["| | beside " + " | beside ".join(rivals) + " |", "| --- |" + " ---: |" * len(rivals)]
    for (place, control), row in sorted(parts.items(), key=lambda item: item[0][0] == "WAN"):
        cells = " | ".join(digits(statistics.fmean(row[rival])) for rival in rivals)
        lines.append(f"| {control}, {place} | {cells} |")
    return "\n".join(lines)


def rules(cells: Cells) -> str:
    """Each rule with the ratios that support it, and whether their intervals do."""
    lines = ["| | rule | cells: ratio [95 % interval] | |", "| --- | --- | --- | --- |"]
    for number, rule in enumerate(tomllib.loads(RULES.read_text())["rule"], 1):
        found, holds = [], True
        for pair in rule["pairs"]:
            metric, (one, other) = pair["metric"], (pair["a"], pair["b"])
            mean, low, high = cells.ratio(one, other, metric)
            holds &= high < 1 if pair["says"] == "less" else low > 1
            names = " / ".join(f"{control}, {place}" for control, place in (one, other))
            found.append(f"`{metric}` {names}: {digits(mean)} [{digits(low)}, {digits(high)}]")
        verdict = "holds" if holds else "**not supported**"
        lines.append(f"| {number} | {rule['text']} | {'<br>'.join(found)} | {verdict} |")
    return "\n".join(lines)


def fill(text: str, name: str, content: str) -> str:
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, rest = text.split(begin, 1)
    return f"{head}{begin}{content}\n{end}{rest.split(end, 1)[1]}"


def main() -> None:
    if len(sys.argv) > 1:
        collect(Path(sys.argv[1]), "which-full", ["control", "place", "seed", *METRICS, *COUNTS], CELLS)
        columns = ["control", "beside", "place", "seed", "a.goodput_gbps", "b.goodput_gbps", "total.max_queue_kb", "total.drops"]
        collect(Path(sys.argv[2]), "which-pairs", columns, PAIRS)
    cells = Cells()
    draw(cells)
    runs = sum(len(rows) for rows in cells.values.values())
    done = sum(cells.converged(*key) for key in cells.values)
    text = PAGE.read_text()
    made = f"Made by `{cells.made_by.split('; ')[0]}`: {runs} cells, {cells.made_by.split('; ')[-1]}. Of {len(cells.values)} settings {done} have converged."
    text = fill(text, "made", made)
    text = fill(text, "rules", rules(cells))
    text = fill(text, "pairs", shares())
    for metric, (name, _, _) in METRICS.items():
        text = fill(text, name, table(cells, metric))
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
