// Queues, rates and windows while a run goes on.
import uPlot from "uplot";
import { element } from "../dom";
import type { Live } from "../engine/types";

/** Curves of a chart, and points of a curve: when there are more, every other one is left out. */
const MOST_CURVES = 6;
/** Curves that are remembered besides. */
const MOST_REMEMBERED = 60;
const MOST_POINTS = 400;
const HEIGHT = 170;

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87f00", "#3f9fd0"];
const DARK = ["#4aa8e8", "#f08a4b", "#2fc79a", "#e39cc4", "#e6b84a", "#8fd0f5"];
const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const color = (index: number) => (document.documentElement.dataset.theme === "dark" ? DARK : LIGHT)[index % LIGHT.length]!;

/** Which curves are shown of many: those with the highest values, or those that have gone on for longest. */
type Shown = "highest" | "longest";

/** Values by name that come in look by look. Hidden until the first. */
class Curves {
  private times: number[] = [];
  private values = new Map<string, (number | null)[]>();
  private rank = new Map<string, number>();
  private plot: uPlot | undefined;
  private names: string[] = [];
  readonly place: HTMLElement;
  private readonly inside = element("div");

  constructor(title: string, private readonly label: string, private readonly end: number, private readonly shown: Shown = "highest") {
    this.place = element("figure", { class: "curves", hidden: true }, element("figcaption", {}, title), this.inside);
    // In the next frame: what changes sizes while they are observed is an error of the page.
    const fit = () => this.plot?.setSize({ width: this.inside.clientWidth, height: HEIGHT });
    new ResizeObserver(() => requestAnimationFrame(fit)).observe(this.inside);
  }

  add(time: number, rows: { name: string; value: number }[]) {
    this.times.push(time);
    for (const { name, value } of rows) {
      const curve = this.values.get(name) ?? Array<null>(this.times.length - 1).fill(null);
      while (curve.length < this.times.length - 1) curve.push(null);
      curve.push(value);
      this.values.set(name, curve);
      const before = this.rank.get(name) ?? 0;
      this.rank.set(name, this.shown === "longest" ? before + 1 : Math.max(before, value));
    }
    if (rows.length) this.place.hidden = false;
    this.forget(new Set(rows.map(({ name }) => name)));
    for (const curve of this.values.values()) if (curve.length < this.times.length) curve.push(null);
    if (this.times.length > MOST_POINTS) {
      const kept = <T>(list: T[]) => list.filter((_, index) => index % 2 === 0 || index === list.length - 1);
      this.times = kept(this.times);
      for (const [name, curve] of this.values) this.values.set(name, kept(curve));
    }
    this.draw();
  }

  /** Names by their rank, the first of which are shown. */
  private ranked(): string[] {
    return [...this.rank].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  }

  private forget(newest: Set<string>) {
    if (this.rank.size <= MOST_REMEMBERED) return;
    for (const name of this.ranked().slice(MOST_CURVES).filter((name) => !newest.has(name))) {
      this.rank.delete(name);
      this.values.delete(name);
    }
  }

  private draw() {
    const names = this.ranked().slice(0, MOST_CURVES).sort();
    if (names.join("\n") !== this.names.join("\n") || !this.plot) this.build(names);
    this.plot!.setData([this.times, ...names.map((name) => this.values.get(name)!)] as uPlot.AlignedData);
  }

  private build(names: string[]) {
    this.names = names;
    this.plot?.destroy();
    const axis = { stroke: () => css("--soft"), grid: { stroke: () => css("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui", labelFont: "11px system-ui" };
    this.plot = new uPlot({
      width: this.inside.clientWidth || 320, height: HEIGHT, legend: { live: false }, cursor: { show: false },
      scales: { x: { time: false, range: [0, this.end] }, y: { range: (_, __, most) => [0, Math.max(most, 1e-9) * 1.05] } },
      axes: [{ ...axis, size: 24, values: (_, ticks) => ticks.map((tick) => `${tick} ms`) }, { ...axis, values: (_, ticks) => ticks.map(String), label: this.label, labelSize: 16, size: 48 }],
      series: [{}, ...names.map((name, index) => ({ label: name, stroke: () => color(index), width: 1.5, spanGaps: true, points: { show: false } }))],
    }, [[]] as unknown as uPlot.AlignedData, this.inside);
  }

  redraw() {
    this.plot?.redraw(false, true);
  }
}

export class LiveView {
  private charts: { queues: Curves; rates: Curves; windows: Curves } | undefined;

  constructor(private readonly place: HTMLElement) {}

  clear() {
    this.charts = undefined;
    this.place.replaceChildren();
    this.place.hidden = true;
  }

  show({ at_ps, end_ps, queues, groups, windows }: Live) {
    const end = end_ps / 1e9;
    if (!this.charts) {
      this.place.hidden = false;
      this.charts = { queues: new Curves("Peak queues", "kB", end), rates: new Curves("Goodput", "Gb/s", end), windows: new Curves("Congestion windows", "kB", end, "longest") };
      this.place.replaceChildren(...Object.values(this.charts).map(({ place }) => place));
    }
    const time = at_ps / 1e9;
    this.charts.queues.add(time, queues.rows.map(({ name, most }) => ({ name: name.replace(" -> ", "→"), value: most / 1e3 })));
    this.charts.rates.add(time, groups.rows.map(({ name, rate_bps }) => ({ name, value: rate_bps / 1e9 })));
    this.charts.windows.add(time, windows.map(({ name, cwnd_bytes }) => ({ name, value: cwnd_bytes / 1e3 })));
    document.body.dataset.plotted = "live";
  }

  redraw() {
    Object.values(this.charts ?? {}).forEach((chart) => chart.redraw());
  }
}
