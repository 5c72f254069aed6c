"use strict";
// What all pages share: their data, elements, numbers, charts.

const data = JSON.parse(document.getElementById("data").textContent);
const report = document.getElementById("report");
report.replaceChildren();

// Colours that stay apart for colour-blind readers (Okabe & Ito).
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#444444"];

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

/** A number with some significant digits and no more zeros than it needs. */
const number = (value, digits = 4) => {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 && Number.isInteger(value)) return value.toLocaleString("en-GB").replaceAll(",", "\u202f");
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  return String(Number(value.toPrecision(digits)));
};

const section = (title, ...children) => report.append(element("h2", {}, title), ...children);

const SI = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"]];
const short = (value) => {
  if (value === 0) return "0";
  const [scale, prefix] = SI.find(([scale]) => Math.abs(value) >= scale * 0.9999) || [1, ""];
  return `${Number((value / scale).toPrecision(3))}${prefix}`;
};

const axis = (label, log) => ({
  label, labelSize: 22, font: "11px system-ui", labelFont: "12px system-ui", stroke: "#5b6675",
  grid: { stroke: "#eceff3", width: 1 }, ticks: { stroke: "#d9dee5", width: 1 }, size: label ? 52 : 40,
  values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : log ? short(tick) : number(tick))),
  // On a logarithmic axis only decades are labelled.
  filter: log ? (_, ticks) => ticks.map((tick) => (Math.abs(Math.log10(tick) % 1) < 1e-9 ? tick : null)) : undefined,
});

/** Labelled lines at some x, behind the curves. */
const verticals = (lines) => (plot) => {
  const { ctx, bbox } = plot;
  ctx.save();
  const font = `${11 * devicePixelRatio}px system-ui`;
  Object.assign(ctx, { strokeStyle: "#8a94a3", fillStyle: "#5b6675", textAlign: "left", font });
  ctx.setLineDash([4, 4]);
  for (const { label, at } of lines) {
    const x = plot.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillText(label, x + 4, bbox.top + 12 * devicePixelRatio);
  }
  ctx.restore();
};

/**
 * A chart of series with their own points: [{name, points: [[x, y]…], dash, colour}], and labelled lines {label, at} across
 * at some y (horizontal) or x (vertical).
 */
const chart = (grid, { title, caption, x, y, xLog, yLog, series, stepped, dots, horizontal = [], vertical = [] }) => {
  const visible = ([x, y]) => (!xLog || x > 0) && (!yLog || y > 0);
  const drawn = series.map((each) => ({ ...each, points: each.points.filter(visible) })).filter((each) => each.points.length > 0);
  if (drawn.length === 0) return;
  const place = element("div", { class: "chart" }, element("h3", {}, title), element("p", { class: "caption" }, caption));
  grid.append(place);
  const across = drawn.flatMap((each) => [each.points[0][0], each.points.at(-1)[0]]);
  const ends = [Math.min(...across), Math.max(...across)];
  const lines = horizontal.map(({ label, at }) => ({ name: label, points: ends.map((x) => [x, at]), line: true }));
  const all = [...drawn, ...lines];
  const tables = all.map((each) => [each.points.map((point) => point[0]), each.points.map((point) => point[1])]);
  const colour = (each, index) => (each.line ? "#8a94a3" : COLOURS[(each.colour ?? index) % COLOURS.length]);
  const path = stepped ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
  const options = {
    width: place.clientWidth || 540, height: 300,
    cursor: { drag: { x: true, y: false } },
    scales: { x: { time: false, distr: xLog ? 3 : 1 }, y: { distr: yLog ? 3 : 1 } },
    axes: [{ ...axis(x, xLog), size: 44 }, axis(y, yLog)],
    legend: { live: false },
    hooks: { drawAxes: [verticals(vertical)] },
    series: [{ label: x }, ...all.map((each, index) => ({
      label: each.name, stroke: colour(each, index), width: 1.6,
      dash: each.dash || each.line ? [6, 4] : undefined, spanGaps: true,
      points: { show: !each.line && (dots || each.points.length < 40), size: dots ? 7 : 4, fill: dots && !each.dash ? colour(each, index) : "#ffffff" },
      paths: dots && !each.line ? () => null : path,
    }))],
  };
  const made = new uPlot(options, uPlot.join(tables), place);
  new ResizeObserver(() => made.setSize({ width: place.clientWidth, height: 300 })).observe(place);
};
