"use strict";

// Curves of two runs on top of each other.

/** The deepest queues that are drawn of each run, and flows. */
const BOTH_QUEUES = 2, BOTH_FLOWS = 4;

/** Queues, windows and round-trip times of two cells: a color for each queue and flow, the second cell dashed. */
const both = async (into, cells) => {
  const runs = await Promise.all(cells.map(async ({ name, over_time: run }) => ({ cell: name, run, get: await unpack(run.packed) })));
  const linkName = ({ nodes, links }, link) => `${nodes[links[link][0]]}→${nodes[links[link][1]]}`;
  const plots = [];
  const setView = (view) => {
    const [min, max] = view || [0, Math.max(...runs.map(({ run }) => run.ended_ms))];
    plots.forEach((plot) => plot.setScale("x", { min, max }));
  };
  const grid = element("div", { class: "grid" });
  /** `of` returns the name and the points of each curve of a run. */
  const draw = (title, caption, y, of, more = {}) => {
    const found = runs.map((each) => of(each));
    const names = [...new Set(found.flatMap((curves) => curves.map(([name]) => name)))];
    const series = found.flatMap((curves, second) => curves.map(([name, points]) => ({
      name: `${name}, ${runs[second].cell}`, color: names.indexOf(name), dash: second ? "dashed" : undefined, points,
    })));
    if (!series.length) return;
    const plot = chart(grid, { title: `${title} of both`, caption, x: "time in ms", y, series, ...more, zoomed: setView });
    if (plot) plots.push(plot);
  };
  const flows = (take) => ({ run, get }) => run.flows.slice(0, BOTH_FLOWS).map((flow) => {
    const [at, values] = [get(flow.at), get(take(flow))];
    return [flow.name, [...at].map((time, row) => [time, values[row]])];
  });
  draw("Queue depth", "the most that waited in each slice of time", "kB waiting", ({ run, get }) =>
    run.queues.filter(({ peak }) => peak > run.queues[0].peak / 10).slice(0, BOTH_QUEUES).map((queue) => [linkName(run.fabric, queue.link), queuePoints(get(queue.most), queue.slice_ms, 1)]), { wide: true });
  draw("Congestion window", "smallest and largest of each slice of time", "kB", flows((flow) => flow.window));
  draw("Round-trip time", "smoothed, as the sender knows it", "µs", flows((flow) => flow.rtt));
  if (!plots.length) return;
  into.append(element("h3", {}, "On top of each other"),
    element("p", { class: "soft caption" }, `Solid: ${runs[0].cell}; dashed: ${runs[1].cell}. Drag: zoom. Double click: all.`), grid);
  setView(runs[0].run.measured_ms);
};
