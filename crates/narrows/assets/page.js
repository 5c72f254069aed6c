"use strict";
// What all pages share: elements, numbers, charts, files to take away. The page they stand in has `data`, and `report`, the element
// that they draw into.

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

/** Groups of three digits do not break apart. */
const narrow = (text) => text.replaceAll(/(\d) (?=\d{3})/g, "$1\u202f");
const grouped = (value) => String(value).replaceAll(/\B(?=(\d{3})+$)/g, "\u202f");

/** A number with some significant digits; all of them before the point, and none for zeros behind it. As numbers.rs rounds. */
const number = (value, digits = 4) => {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e15) return value.toExponential(digits - 2).replace("+", "");
  if (size >= 1000 || Number.isInteger(value)) return (value < 0 ? "-" : "") + grouped(Math.round(size));
  return String(Number(value.toFixed(Math.max(digits - 1 - Math.floor(Math.log10(size)), 0))));
};

/** `1 drop`, `31 drops`. */
const counted = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;

const section = (title, ...children) => {
  const id = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  report.append(element("h2", { id }, title), ...children);
};

// ---- Light and dark ----

const wanted = matchMedia("(prefers-color-scheme: dark)");
const redraws = new Set();
const setTheme = (name) => { document.documentElement.dataset.theme = name; };
// A page that the report is a part of may have chosen already, and may choose again.
setTheme(document.documentElement.dataset.theme || (wanted.matches ? "dark" : "light"));
wanted.addEventListener("change", () => setTheme(wanted.matches ? "dark" : "light"));
new MutationObserver(() => redraws.forEach((redraw) => redraw())).observe(document.documentElement, { attributeFilter: ["data-theme"] });
const isDark = () => document.documentElement.dataset.theme === "dark";
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const themeButton = () => element("button", {
  type: "button", onclick: () => setTheme(isDark() ? "light" : "dark"),
}, "Light / dark");

// Colors that stay apart for color-blind readers (after Okabe & Ito), on white and on black.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b87f00", "#3f9fd0", "#7a5195", "#444444"];
const DARK = ["#4aa8e8", "#f08a4b", "#2fc79a", "#e39cc4", "#e6b84a", "#8fd0f5", "#b491d6", "#c9c9c9"];
const colorOf = (index) => (isDark() ? DARK : LIGHT)[index % LIGHT.length];

// ---- Files to take away ----

const save = (name, type, content) => {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};
const fileName = (title, ending) => `${title.replaceAll(/[^\p{L}\p{N}+.-]+/gu, "-").slice(0, 80)}.${ending}`;
const csvField = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csvText = (rows) => rows.map((row) => row.map(csvField).join(",")).join("\r\n") + "\r\n";
const tableRows = (table) =>
  [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim().replaceAll("\u202f", "")));

/** Buttons that save what is shown; each format a function that makes it. */
const saves = (title, formats) => {
  const button = ([ending, [type, make]]) => element("button", {
    type: "button", "aria-label": `Save ${title} as ${ending.toUpperCase()}`,
    onclick: async () => save(fileName(title, ending), type, await make()),
  }, ending.toUpperCase());
  return element("div", { class: "tools saves" }, ...Object.entries(formats).map(button));
};

/** A table whose rows become blocks in narrow windows: below the first cell a line for each other, behind the head of its column. */
const cards = (table) => {
  const heads = [...table.tHead.rows[0].cells].map(({ textContent }) => textContent);
  for (const { cells } of table.tBodies[0].rows) heads.forEach((head, column) => { if (column && cells[column]) cells[column].dataset.head = head; });
  table.classList.add("cards");
  return table;
};

/** A table with a button that saves it. */
const tableBlock = (title, table) => element("div", {},
  element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table),
  saves(title, { csv: ["text/csv", () => csvText(tableRows(table))] }));

const png = (canvas) => new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
const escapeXml = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const svgPage = (width, height, inside) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ` +
  `font-family="system-ui, sans-serif" font-size="11"><rect width="100%" height="100%" fill="${css("--paper")}"/>${inside}</svg>\n`;

// ---- Charts ----

// Axes name their unit, so that "m" behind a number would be read as one: below 1 there are decimals.
const SI = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
const short = (value) => {
  if (value === 0) return "0";
  const [scale, prefix] = SI.find(([scale]) => Math.abs(value) >= scale * 0.9999) || [1, ""];
  return `${Number((value / scale).toPrecision(3))}${prefix}`;
};

const axis = (label, log) => ({
  label, labelSize: 22, font: "11px system-ui", labelFont: "12px system-ui", stroke: () => css("--soft"),
  grid: { stroke: () => css("--grid"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1 },
  // As wide as the longest of its numbers needs.
  size: (_, texts) => Math.max(label ? 52 : 40, 20 + 6.6 * Math.max(0, ...(texts || []).map((text) => text?.length ?? 0))),
  values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : log ? short(tick) : number(tick))),
  // On a logarithmic axis only decades are labeled.
  filter: log ? (_, ticks) => ticks.map((tick) => (Math.abs(Math.log10(tick) % 1) < 1e-9 ? tick : null)) : undefined,
});

/** An axis across with labels at places of its own, [[at, text]…]; names that stand side by side are turned if they are long. */
const ticked = (ticks, log, names) => {
  const room = (plot) => plot.width - 90;
  const wide = (text) => String(text).length * 6.4;
  const cut = (text) => (text.length > 28 ? `${text.slice(0, 27)}…` : text);
  const turned = (plot, texts) => names && Math.max(...texts.map(wide)) > room(plot) / Math.max(texts.length, 1) - 8;
  const scaled = (value) => (log ? Math.log(value) : value);
  return {
    splits: (plot, _, min, max) => ticks.map(([at]) => at).filter((at) => at >= min && at <= max),
    filter: (_, splits) => splits,
    values: (plot, splits) => {
      const texts = new Map(ticks);
      const { min, max } = plot.scales.x;
      let end = -Infinity;
      return splits.map((at) => {
        const text = cut(texts.get(at));
        const center = ((scaled(at) - scaled(min)) / (scaled(max) - scaled(min))) * room(plot);
        if (!names && center - wide(text) / 2 < end + 6) return "";
        end = center + wide(text) / 2;
        return text;
      });
    },
    rotate: (plot, texts) => (turned(plot, texts) ? 35 : 0),
    size: (plot, texts) => (texts && turned(plot, texts) ? 24 + 0.6 * Math.max(...texts.map(wide)) : 44),
  };
};

/** Labeled lines at some x, behind the curves. */
const verticals = (lines) => (plot) => {
  const { ctx, bbox } = plot;
  ctx.save();
  const font = `${11 * devicePixelRatio}px system-ui`;
  Object.assign(ctx, { strokeStyle: css("--soft"), fillStyle: css("--soft"), textAlign: "left", font });
  ctx.setLineDash([4, 4]);
  for (const { label, at } of lines()) {
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

/** Confidence bands as areas behind the curves: polygons in the units of the axes, null between two of them. */
const areas = (series) => (plot) => {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.globalAlpha = 0.2;
  series.forEach((each, index) => {
    if (!each.area || !plot.series[index + 1].show) return;
    ctx.fillStyle = colorOf(each.color ?? index);
    ctx.beginPath();
    each.area.forEach((corner, number) => {
      if (!corner) return;
      const [x, y] = [plot.valToPos(corner[0], "x", true), plot.valToPos(corner[1], "y", true)];
      if (each.area[number - 1]) ctx.lineTo(x, y);
      else ctx.moveTo(x, y);
    });
    ctx.fill();
  });
  ctx.restore();
};

/** Whether one of the signs before stands for this one, which it would cover. */
const covering = (scale) => {
  const drawn = [];
  return (sign, left, up) => {
    const near = ([text, x, y]) => text.includes(sign) && Math.abs(x - left) < 5 * (text.length + 1) * scale && Math.abs(y - up) < 11 * scale;
    if (drawn.some(near)) return true;
    drawn.push([sign, left, up]);
    return false;
  };
};

/** Marks behind numbers, as signs above points: [[x, y, text]…]. */
const signs = (series) => (plot) => {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  Object.assign(ctx, { font: `${9 * devicePixelRatio}px system-ui`, textAlign: "center" });
  const isCovered = covering(devicePixelRatio);
  series.forEach((each, index) => {
    if (!each.signs || !plot.series[index + 1].show) return;
    ctx.fillStyle = colorOf(each.color ?? index);
    for (const [x, y, text] of each.signs) {
      const [left, up] = [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true) - 5 * devicePixelRatio];
      if (!isCovered(text, left, up)) ctx.fillText(text, left, up);
    }
  });
  ctx.restore();
};

/** How curves are drawn that are not solid: `dash: true` or "dashed", "dotted", and lines across. */
const DASHES = { dashed: [6, 4], dotted: [2, 3] };
const strokeOf = ({ dash, line }) => (dash === "dotted" ? dash : dash || line ? "dashed" : "solid");

/** The chart as it is shown, as SVG. */
const chartSvg = (plot, { title, x, y, series, stepped, lines, floor = -Infinity }) => {
  const ratio = devicePixelRatio || 1;
  const [left, top, width, height] = ["left", "top", "width", "height"].map((side) => plot.bbox[side] / ratio);
  const px = (value) => left + plot.valToPos(value, "x");
  const py = (value) => top + plot.valToPos(Math.max(value, floor), "y");
  const inside = ([x, y]) => x >= plot.scales.x.min && x <= plot.scales.x.max && Number.isFinite(y);
  const at = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;
  const parts = [];
  const isCovered = covering(1);
  const soft = css("--soft");
  const label = (text, x, y, anchor, more = "") =>
    parts.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${soft}" ${more}>${escapeXml(text)}</text>`);
  const point = (x, y, { dash }, color) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" stroke="${color}" fill="${dash ? "none" : color}"/>`;
  const dashes = (each) => (strokeOf(each) === "solid" ? "" : ` stroke-dasharray="${DASHES[strokeOf(each)].join(" ")}"`);
  const [across, up] = plot.axes;
  const splits = (axis) => (axis._splits || []).map((split, number) => [split, axis._values?.[number]]).filter(([, text]) => text);
  const turn = across._rotate ? (x) => `transform="rotate(${-across._rotate} ${x.toFixed(1)} ${(top + height + 15).toFixed(1)})"` : undefined;
  for (const [value, text] of splits(across)) {
    parts.push(`<path d="M${at(px(value), top)}V${(top + height).toFixed(1)}" stroke="${css("--grid")}"/>`);
    label(text, px(value), top + height + 15, turn ? "end" : "middle", turn?.(px(value)));
  }
  const under = top + height + (turn ? across._size : 0);
  for (const [value, text] of splits(up)) {
    parts.push(`<path d="M${at(left, py(value))}H${(left + width).toFixed(1)}" stroke="${css("--grid")}"/>`);
    label(text, left - 6, py(value) + 4, "end");
  }
  label(x, left + width / 2, under + 34, "middle", 'font-size="12"');
  label(y, 14, top + height / 2, "middle", `font-size="12" transform="rotate(-90 14 ${(top + height / 2).toFixed(1)})"`);
  parts.push(`<clipPath id="c"><rect x="${left}" y="${top}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#c)" fill="none">`);
  const shown = [...series, ...lines].map((each, index) => [each, index]).filter(([, index]) => plot.series[index + 1].show);
  for (const [each, index] of shown) {
    const color = each.line ? soft : colorOf(each.color ?? index);
    const corner = (point, number) => (point ? `${each.area[number - 1] ? "L" : "M"}${at(px(point[0]), py(point[1]))}` : "Z");
    if (each.area) parts.push(`<path d="${each.area.map(corner).join("")}Z" fill="${color}" fill-opacity=".2"/>`);
    const points = each.points.filter(inside).map(([x, y]) => [px(x), py(y)]);
    if (each.dots) {
      points.forEach(([x, y]) => parts.push(point(x, y, each, color)));
      continue;
    }
    const path = points.map(([x, y], number) => (number === 0 ? `M${at(x, y)}` : stepped ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `L${at(x, y)}`));
    parts.push(`<path d="${path.join("")}" stroke="${color}" stroke-width="1.6"${dashes(each)}/>`);
    for (const [x, y, text] of (each.signs || []).filter(inside)) {
      if (!isCovered(text, px(x), py(y) - 5)) parts.push(`<text x="${px(x).toFixed(1)}" y="${(py(y) - 5).toFixed(1)}" text-anchor="middle" fill="${color}" font-size="9">${escapeXml(text)}</text>`);
    }
  }
  parts.push("</g>");
  let down = under + 56;
  shown.forEach(([each, index]) => {
    const color = each.line ? soft : colorOf(each.color ?? index);
    parts.push(each.dots ? point(left + 9, down - 4, each, color) : `<path d="M${left},${down - 4}h18" stroke="${color}" stroke-width="2"${dashes(each)}/>`);
    label(each.name, left + 24, down, "start");
    down += 16;
  });
  label(title, left, 14, "start", 'font-size="13" font-weight="600"');
  return svgPage(Math.ceil(plot.width), Math.ceil(down), parts.join(""));
};

const chartCsv = ({ x, y, all }) => {
  const marked = all.some(({ signs }) => signs?.length);
  const signOf = ({ signs }, at) => signs?.find(([x]) => x === at)?.[2];
  const rows = all.flatMap((each) => each.points.map(([x, y]) => [each.name, x, y, ...(marked ? [signOf(each, x)] : [])]));
  return csvText([["series", x, y, ...(marked ? ["marks"] : [])], ...rows]);
};

/**
 * A chart of series with their own points: [{name, points: [[x, y]…], dash, color, area, signs}], and labeled lines {label, at}
 * across at some y (horizontal) or x (vertical; or a function that tells them). `ticks` are labels of the axis across, `ranges` what
 * both axes show unless one zooms. On a logarithmic axis upwards, what is below `floor` is drawn there. Returns the plot.
 */
const chart = (grid, { title, caption, x, y, xLog, yLog, floor, series, stepped, dots, horizontal = [], vertical = [], wide, zoomed, ticks, names, ranges }) => {
  const visible = ([x, y]) => (!xLog || x > 0) && (!yLog || floor || y > 0);
  const drawn = series.map((each) => ({
    ...each, points: each.points.filter(visible), area: each.area?.filter((corner) => !corner || visible(corner)), dots: each.dots ?? dots,
  })).filter((each) => each.points.length > 0);
  if (drawn.length === 0) return undefined;
  const place = element("figure", { class: wide ? "chart wide" : "chart", style: "margin: 0" });
  const picture = element("div", { role: "img", "aria-label": `${title}. ${drawn.length} curves of ${y} over ${x}: ${drawn.map((each) => each.name).join(", ")}. Save as CSV for the numbers.` });
  place.append(element("h3", {}, title), element("p", { class: "caption" }, caption), picture);
  grid.append(place);
  const across = drawn.flatMap((each) => [each.points[0][0], each.points.at(-1)[0]]);
  const ends = [Math.min(...across), Math.max(...across)];
  const lines = horizontal.map(({ label, at }) => ({ name: label, points: ends.map((x) => [x, at]), line: true }));
  const all = [...drawn, ...lines];
  const tables = all.map((each) => [each.points.map((point) => point[0]), each.points.map((point) => (floor ? Math.max(point[1], floor) : point[1]))]);
  const color = (each, index) => () => (each.line ? css("--soft") : colorOf(each.color ?? index));
  const path = stepped ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
  const tall = (wide ? 240 : 300) + (names ? 50 : 0);
  const whole = (range) => range && { range: (_, min, max) => (min <= ends[0] && max >= ends[1] ? range : [min, max]) };
  // Bands are inside, as far as they leave room for the curves.
  const edges = drawn.flatMap(({ area }) => area || []).filter(Boolean).map(([, y]) => y);
  const least = Math.min(...edges), most = Math.max(...edges);
  const withBands = (_, low, high) => uPlot.rangeLog(Math.max(Math.min(low, least), low / 10), Math.min(Math.max(high, most), high * 10), 10, false);
  const upright = ranges ? { range: ranges.y } : yLog && edges.length ? { range: withBands } : {};
  const options = {
    width: place.clientWidth || 540, height: tall,
    cursor: { drag: { x: true, y: false, setScale: !zoomed }, bind: zoomed ? { dblclick: () => () => zoomed(null) } : {} },
    scales: { x: { time: false, distr: xLog ? 3 : 1, ...whole(ranges?.x) }, y: { distr: yLog ? 3 : 1, ...upright } },
    axes: [{ ...axis(x, xLog), size: 44, ...(ticks && ticked(ticks, xLog, names)) }, axis(y, yLog)],
    // What stands in the legend looks like the curve: dashed, dotted, a full or a hollow point.
    legend: { live: false, markers: {
      dash: (_, index) => (all[index - 1].dots ? "solid" : strokeOf(all[index - 1])),
      fill: (_, index) => (all[index - 1].dots && !all[index - 1].dash ? color(all[index - 1], index - 1)() : "transparent"),
    } },
    hooks: {
      drawAxes: [areas(drawn), verticals(typeof vertical === "function" ? vertical : () => vertical)],
      draw: [signs(drawn)],
      setSelect: zoomed ? [(plot) => {
        if (plot.select.width < 3) return;
        const [from, to] = [plot.select.left, plot.select.left + plot.select.width].map((at) => plot.posToVal(at, "x"));
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        zoomed([from, to]);
      }] : [],
    },
    series: [{ label: x }, ...all.map((each, index) => ({
      label: each.name, stroke: color(each, index), width: 1.6, class: each.dots ? "dots" : undefined,
      dash: each.dots ? undefined : DASHES[strokeOf(each)], spanGaps: true,
      points: {
        show: !each.line && each.dash !== "dotted" && (each.dots || each.points.length < 40), size: each.dots ? 7 : 4,
        fill: each.dots && !each.dash ? color(each, index) : () => css("--paper"),
      },
      paths: each.dots ? () => null : path,
    }))],
  };
  const made = new uPlot(options, uPlot.join(tables), picture);
  const redraw = () => made.redraw(false, true);
  redraws.add(redraw);
  // In the next frame: what changes sizes while they are observed is an error of the page.
  const fit = () => {
    if (place.clientWidth && place.clientWidth !== made.width) made.setSize({ width: place.clientWidth, height: tall });
  };
  const watch = new ResizeObserver(() => {
    if (!place.isConnected) {
      watch.disconnect();
      redraws.delete(redraw);
      made.destroy();
    } else requestAnimationFrame(fit);
  });
  watch.observe(place);
  place.append(saves(title, {
    svg: ["image/svg+xml", () => chartSvg(made, { title, x, y, series: drawn, stepped, lines, floor })],
    png: ["image/png", () => png(made.ctx.canvas)],
    csv: ["text/csv", () => chartCsv({ x, y, all })],
  }));
  return made;
};
