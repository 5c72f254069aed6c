"use strict";
// A comparison in one look: what differs, one picture, and what the seeds show of it.

/** Settings that are seen at once. */
const SETTINGS = 8;

/** Settings that differ: a row for each, a column for each cell. */
const differing = (differences) => {
  const head = element("tr", {}, element("th", {}, "setting"), ...data.cells.map(({ name }) => element("th", { class: "text" }, name)));
  const row = ({ path, values }) => element("tr", {}, element("td", {}, element("code", {}, ...path.split(/(?<=\.)/).flatMap((key) => [key, element("wbr")]))),
    ...values.map((value) => element("td", { class: "text" }, value === null ? "–" : element("code", {}, value))));
  return tableBlock("What differs", cards(element("table", {}, element("thead", {}, head), element("tbody", {}, ...differences.map(row)))));
};

/** What a cell changes, a line for each group. */
const finding = ({ name, base, remark, groups }) => {
  const change = ({ text, verdict }, index) => [index ? "; " : "", element("span", verdict ? { class: verdict } : {}, narrow(text))];
  const line = ({ name, changes, same }) => element("li", {}, element("b", {}, `${name}: `), ...changes.flatMap(change),
    ...(same.length ? [element("span", { class: "soft" }, `${changes.length ? "; " : ""}no difference shown in ${same.join(", ")}`)] : []));
  return [element("h3", {}, `${name} beside ${base}`), ...(remark ? [element("p", {}, `${remark}.`)] : []), element("ul", { class: "findings" }, ...groups.map(line))];
};

/** Values of each cell with their intervals, a block for each group. */
const intervals = (grid, main) => {
  const tall = 20, above = 24;
  const height = main.length * (above + data.cells.length * tall + 8);
  const draw = (pen, w) => {
    const room = 160, left = Math.min(180, w * 0.3), wide = Math.max(w - left - room, 20);
    main.forEach(({ group, label, values }, block) => {
      const top = block * (above + data.cells.length * tall + 8);
      const most = Math.max(...values.map((value) => (value ? value.ends[1] : 0))) || 1;
      const x = (value) => left + value / most * wide;
      pen.text(`${group}: ${label}`, 0, top + 14, css("--ink"));
      values.forEach((value, cell) => {
        const y = top + above + (cell + 0.5) * tall;
        pen.text(clip(data.cells[cell].name, left - 8), 0, y + 4, css("--soft"));
        pen.line(x(0), y, x(most), y, css("--grid"));
        if (!value) return;
        pen.line(x(value.ends[0]), y, x(value.ends[1]), y, colorOf(cell), 3);
        pen.circle(x(value.mean), y, 4, colorOf(cell));
        pen.text(narrow(value.text), left + wide + 10, y + 4, css("--ink"));
      });
    });
  };
  const picture = drawing("Main metrics", `${main.map(({ group, label }) => `${group}: ${label}`).join("; ")}.`, height, draw);
  const csv = () => csvText([["group", "metric", "cell", "mean", "low", "high"], ...main.flatMap(({ group, label, values }) =>
    values.map((value, cell) => [group, label, data.cells[cell].name, value?.mean, ...(value?.ends ?? [])]))]);
  const lines = data.intervals ? "95 % confidence intervals over seeds" : "from the smallest to the largest of all seeds";
  grid.append(element("figure", { class: "chart", style: "margin: 0" }, element("h3", {}, "Main metrics"),
    element("p", { class: "caption" }, `from zero; lines: ${lines}`), picture.place, picture.saves({ csv: ["text/csv", csv] })));
  picture.redraw();
};

/** Percentiles by flow size that have marks, for a chart, and the meaning of those. */
const signsOf = ({ slowdown }, key) => slowdown.filter((each) => each[key].marks).map((each) => [each.size, each[key].mean, each[key].marks]);
const legendOf = (groups) => [...new Set(groups.flatMap(({ legend }) => legend))].map((text) => `; ${text}`).join("");

/** The slowdown of large and small flows of one group. */
const slowdowns = (grid, name) => {
  const found = data.cells.flatMap((cell, index) => cell.groups.filter((group) => group.name === name).map((group) => [cell, group, index]));
  const ends = ({ slowdown }, end) => slowdown.map(({ size, p99 }) => [size, (p99.interval || [p99.mean, p99.mean])[end]]);
  chart(grid, {
    title: `${name}: slowdown by flow size`, caption: `99th percentile${data.intervals ? "; bands: 95 % confidence interval over seeds" : ""}${legendOf(found.map(([, group]) => group))}`,
    x: "flow size in bytes", y: "slowdown p99", xLog: true, yLog: true,
    series: found.map(([cell, group, index]) => ({
      name: cell.name, color: index, points: group.slowdown.map(({ size, p99 }) => [size, p99.mean]), signs: signsOf(group, "p99"),
      area: data.intervals ? [...ends(group, 0), ...ends(group, 1).reverse()] : undefined,
    })),
  });
};

/** One picture: the slowdown by flow size of a group, where there are flows of several sizes; else the main metric of each group. */
const firstPicture = (grid, { main }) => {
  const sized = [...new Set(data.cells.flatMap(({ groups }) => groups).filter(({ slowdown }) => slowdown.length > 1).map(({ name }) => name))];
  if (!sized.length) {
    if (main.length) intervals(grid, main);
    return;
  }
  const side = element("div", { class: "chart" });
  grid.append(side);
  if (sized.length > 1) {
    const show = () => { side.lastChild.remove(); slowdowns(side, choice.value); };
    const choice = element("select", { "aria-label": "Group", onchange: show }, ...sized.map((name) => element("option", {}, name)));
    side.append(element("div", { class: "tools" }, element("label", {}, "Group: ", choice)));
  }
  slowdowns(side, sized[0]);
};

const opening = (shown) => {
  const grid = element("div", { class: "grid" });
  const found = element("div", {}, ...shown.findings.flatMap(finding));
  const [first, more] = [shown.differences.slice(0, SETTINGS), shown.differences.slice(SETTINGS)];
  section("At a glance", first.length ? differing(first) : element("p", {}, "The scenarios are the same."));
  if (more.length) report.append(element("details", {}, element("summary", {}, counted(more.length, "more setting")), differing(more)));
  report.append(grid);
  grid.append(found);
  firstPicture(grid, shown);
};
