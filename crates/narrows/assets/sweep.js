"use strict";
(() => {
  const soft = (...children) => element("p", { class: "soft" }, ...children);
  const head = (texts, left) => element("thead", {}, element("tr", {}, ...texts.map((text, column) => element("th", left(column) ? { style: "text-align: left" } : {}, text))));

  const header = () => {
    const places = [...(data.matrix ? ["Matrix"] : []), "Differences", "Figures", "Table", "Cells", ...(data.scenario ? ["Scenario"] : [])];
    const link = (name) => element("li", {}, element("a", { href: `#${name.toLowerCase()}` }, name));
    const axis = ({ name, values, more }) => element("li", {}, element("strong", {}, name), `: ${values.join(", ")}${more ? ` and ${more} more` : ""}`);
    report.append(
      element("h1", {}, data.title),
      soft(`sweep · ${data.size} · narrows ${data.engine}`),
      element("ul", { class: "top" }, ...places.map(link), element("li", {}, themeButton())),
      element("ul", {}, ...data.axes.map(axis)),
    );
    const [all, there, failed] = data.cells;
    const missing = all - there - failed;
    if (all > there) {
      const parts = [failed ? `${number(failed)} failed` : "", missing ? `${number(missing)} ${missing === 1 ? "is" : "are"} missing` : ""].filter(Boolean);
      report.append(element("p", { class: "notes" }, `Not complete: of ${counted(all, "cell")} ${parts.join(" and ")} (`, element("a", { href: "#cells" }, "which"), "). The page shows those that are there."));
    }
    if (data.warnings.length) report.append(element("div", { class: "notes" }, "Warnings of the runs:", element("ul", {}, ...data.warnings.map((warning) => element("li", {}, warning)))));
  };

  /** Two axes of names: a cell for each pair, in the color of the metric that is chosen. */
  const matrix = () => {
    if (!data.matrix) return;
    const { axes, rows, columns, quantities, cells, legend } = data.matrix;
    const into = element("div");
    const choice = element("select", { "aria-label": "Metric", onchange: () => show() }, ...quantities.map(({ label }, index) => element("option", { value: index }, label)));
    const place = (id) => (data.has_pages ? `cells/${id}/report.html` : `cells/${id}/`);
    const show = () => {
      const main = Number(choice.value);
      const { log, range, meaning } = quantities[main];
      const [low, high] = (range || [0, 0]).map((value) => (log ? Math.log(value) : value));
      // Between paper and accent, as far from both inks as text needs.
      const [paper, accent] = ["--paper", "--accent"].map((name) => css(name).match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16)));
      const color = (value) => {
        const share = 0.06 + 0.44 * (high > low ? ((log ? Math.log(value) : value) - low) / (high - low) : 0);
        return `background: rgb(${paper.map((part, index) => Math.round(part + share * (accent[index] - part))).join(", ")})`;
      };
      const cell = (found) => {
        if (!found) return element("td", { class: "soft" }, "–");
        const [value, text] = found.values[main] || [null, "–"];
        const large = element(data.is_inside ? "a" : "span", { class: "large", ...(data.is_inside ? { href: place(found.id) } : {}) }, narrow(text));
        const other = (each, index) => (index === main ? [] : [element("span", {}, element("span", {}, quantities[index].label), " ", element("b", {}, each ? narrow(each[1]) : "–"))]);
        return element("td", value === null ? {} : { style: color(value) }, element("div", {}, large, ...found.values.flatMap(other)));
      };
      const head = element("tr", {}, element("th", {}, axes.join(" \\ ")), ...columns.map((name) => element("th", {}, name)));
      const body = rows.map((name, row) => element("tr", {}, element("td", {}, name), ...cells[row].map(cell)));
      const table = cards(element("table", { class: "matrix" }, element("thead", {}, head), element("tbody", {}, ...body)));
      const key = range ? [element("ul", { class: "key" }, ...range.map((value) => element("li", {}, element("i", { style: color(value) }), number(value))), ...(log ? [element("li", {}, "logarithmic")] : []))] : [];
      into.replaceChildren(soft(meaning), ...key, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Matrix" }, table));
    };
    const csv = () => csvText([[...axes, ...quantities.map(({ label }) => label)], ...rows.flatMap((row, index) =>
      columns.map((column, number) => [row, column, ...quantities.map((_, metric) => cells[index][number]?.values[metric]?.[0])]))]);
    section("Matrix", element("div", { class: "tools" }, element("label", {}, "Large, and as the color: ", choice)), into, saves("Matrix", { csv: ["text/csv", csv] }));
    legend.forEach((line) => report.append(soft(line)));
    show();
    redraws.add(show);
  };

  /** Which differences the runs support. */
  const differences = () => {
    const { metrics, notes } = data.differences;
    const whole = (text) => narrow(text).replaceAll(" = ", "\u00a0=\u00a0");
    const sentence = ({ group, at, text }) => element("li", {}, element("strong", {}, group), at ? `, ${whole(at)}` : "", `: ${whole(text)}`);
    const list = ({ sentences }) => element("ul", { class: "said" }, ...sentences.map(sentence));
    const many = metrics.reduce((sum, { sentences }) => sum + sentences.length, 0) > 24;
    const folded = (metric, index) => element("details", index === 0 ? { open: "" } : {},
      element("summary", {}, element("strong", {}, metric.label), ` · ${counted(metric.sentences.length, "line")}`), list(metric));
    section("Differences", ...metrics.flatMap((metric, index) => (many ? [folded(metric, index)] : [element("h3", {}, metric.label), list(metric)])));
    if (!metrics.length && !notes.length) report.append(soft("Nothing varies, or nothing that is shown happened."));
    for (const note of notes) report.append(soft(note));
  };

  /** The corners of bands: along a scale one area between the bounds, beside names a box each. */
  const bands = (points, along, half) => {
    const known = points.filter(([, , interval]) => interval);
    if (!known.length) return undefined;
    if (along) {
      const bound = (end) => points.map(([x, value, interval]) => [x, interval ? interval[end] : value]);
      return [...bound(0), ...bound(1).reverse()];
    }
    return known.flatMap(([x, , [low, high]]) => [[x - half, low], [x - half, high], [x + half, high], [x + half, low], null]);
  };

  const drawn = (grid, figure, { group, rest, y_log, range: [low, high], lines }) => {
    const { x, x_log, on_a_scale, ticks, by } = data.figures;
    const [first, last] = [ticks[0][0], ticks.at(-1)[0]];
    const pad = (last - first) * 0.04 || 0.5;
    const factor = (last / first) ** 0.04 || 1.1;
    const across = !on_a_scale ? [-0.5, ticks.length - 0.5] : x_log ? [first / factor, last * factor] : [first - pad, last + pad];
    // From zero, unless that hides all there is.
    const room = (high - low) * 0.08 || Math.abs(high) * 0.1 || 1;
    // One digit, as the ticks of the scale are made from it.
    const digit = (value, round) => round(value / 10 ** Math.floor(Math.log10(value))) * 10 ** Math.floor(Math.log10(value));
    const up = y_log ? [digit(low / 1.1, Math.floor), digit(high * 1.1, Math.ceil)] : [low > 0 && low < high * 0.85 ? 0 : low - (low > 0 ? Math.min(room, low) : room), high + room];
    const width = 0.6 / lines.length;
    const series = lines.map(({ name, color, points, beside }, index) => {
      const shifted = on_a_scale ? points : points.map(([place, ...value]) => [place + (index - (lines.length - 1) / 2) * width, ...value]);
      if (!points.length) return { name, color, dash: "dotted", points: across.map((x) => [x, beside]) };
      return { name: name || group, color, dash: color >= LIGHT.length ? "dashed" : undefined, points: shifted, area: bands(shifted, on_a_scale && points.length > 1, on_a_scale ? pad / 4 : width * 0.3) };
    });
    const banded = lines.some(({ points }) => points.some(([, , interval]) => interval));
    const notes = [data.figures.rest[rest], by && lines.length > 1 ? `lines: ${by}` : "", banded ? "bands: 95 % confidence interval over seeds" : "",
      lines.some(({ points }) => points.some(([, , interval]) => interval && (interval[0] < low || interval[1] > high))) ? "some end beyond the chart" : "",
      lines.some(({ points }) => !points.length) ? `dotted: has no ${x}` : ""];
    chart(grid, {
      title: `${group}: ${figure.label}`, caption: notes.filter(Boolean).join(" · "), x, y: figure.label, xLog: x_log, yLog: y_log,
      series, dots: on_a_scale ? undefined : true, ticks, names: !on_a_scale, ranges: { x: across, y: up },
    });
  };

  const figures = () => {
    const into = element("div");
    section("Figures", into);
    if (!data.figures || !data.figures.metrics.length) {
      into.append(soft(data.figures ? "Nothing that is shown happened." : "Nothing varies: the sweep is one point."));
      return;
    }
    const { rest, metrics, never } = data.figures;
    const several = rest.length > 1;
    const choice = element("select", { "aria-label": "Other axes", onchange: () => show() },
      element("option", { value: "all" }, "all"), ...rest.map((text, number) => element("option", { value: number }, text)));
    // Many charts are shown on demand.
    if (rest.length > 4) choice.value = "0";
    const show = () => {
      into.replaceChildren();
      if (several) into.append(element("div", { class: "tools" }, element("label", {}, "Other axes: ", choice)));
      for (const figure of metrics) {
        const grid = element("div", { class: "grid" });
        into.append(...(figure.meaning ? [soft(element("strong", {}, figure.label), `: ${figure.meaning}`)] : []), grid);
        figure.charts.filter((each) => choice.value === "all" || each.rest === Number(choice.value)).forEach((each) => drawn(grid, figure, each));
      }
    };
    show();
    if (never.length) report.append(soft(`Zero in all points, or without a value: ${never.join(", ")}.`));
  };

  const table = () => {
    const { heads, rows } = data.table;
    const texts = data.axes.length + 2;
    const isLeft = (column) => column < data.axes.length || column === data.axes.length + 1;
    const cell = (value) => {
      if (!value) return element("td", { class: "soft" }, "–");
      const spread = narrow(value[1].trim());
      return element("td", {}, narrow(value[0]), ...(spread ? [" ", element("span", { class: "interval" }, spread)] : []));
    };
    const text = (content, column, first) => element("td", {
      ...(isLeft(column) ? { style: "text-align: left" } : {}), ...(first || column === texts - 1 ? {} : { class: "soft" }),
    }, content);
    const row = ({ is_first, texts, values }) => element("tr", {}, ...texts.map((content, column) => text(content, column, is_first)), ...values.map(cell));
    section("Table", rows.length ? tableBlock("Table", element("table", {}, head(heads, isLeft), element("tbody", {}, ...rows.map(row)))) : soft("No cell is there."));
    data.table.legend.forEach((line) => report.append(soft(line)));
    if (rows.length) {
      report.append(soft("Geometric means over seeds (arithmetic if a seed has 0). In brackets: 95 % confidence interval (Student's t of logarithms). " +
        "In parentheses, with fewer than three seeds or a seed that has 0: the smallest and the largest value."));
    }
  };

  const cells = () => {
    const place = (id) => (data.is_inside ? element("a", { href: data.has_pages ? `cells/${id}/report.html` : `cells/${id}/` }, `cells/${id}`) : `cells/${id}`);
    const left = { style: "text-align: left" };
    const base = ({ point, seed }) => [element("td", {}, point || data.title), element("td", {}, String(seed))];
    const made = (title, heads, list, more) => tableBlock(title, element("table", {}, head(heads, (column) => column !== 1),
      element("tbody", {}, ...list.map((each) => element("tr", {}, ...base(each), ...more(each))))));
    const later = (title, list, make) => {
      const folded = element("details", {}, element("summary", {}, title));
      folded.addEventListener("toggle", () => folded.append(make(list)), { once: true });
      return list.length ? [folded] : [];
    };
    const { failed, missing, there } = data;
    section("Cells",
      ...(failed.length ? [element("h3", {}, counted(failed.length, "failed cell")), made("failed cells", ["point", "seed", "why"], failed,
        ({ reason }) => [element("td", { class: "text", style: "white-space: pre-wrap" }, reason)]),
      soft("Restarting the sweep retries them.")] : []),
      ...later(`${counted(missing.length, "missing cell")}`, missing, (list) => made("missing cells", ["point", "seed"], list, () => [])),
      ...later(`${counted(there.length, "cell")} with results`, there, (list) => made("cells", ["point", "seed", "results"], list, ({ id }) => [element("td", left, place(id))])),
      soft("The folder of a cell is that of a run: narrows report cells/ID makes its page, with what was recorded over time. summary.parquet has all metrics of all cells."),
    );
  };

  /** What was swept: changes for all points, and the scenario before them. */
  const scenario = () => {
    if (!data.scenario) return;
    const changes = data.set.map((change) => change.replace("=", " = ")).join("\n");
    section("Scenario",
      ...(changes ? [soft("Changed for all points:"), element("pre", { tabindex: "0" }, changes)] : []),
      element("details", {}, element("summary", {}, changes ? "Scenario before these changes" : "Scenario"),
        element("pre", { tabindex: "0" }, data.scenario), saves("scenario", { toml: ["text/plain", () => data.scenario] })),
      soft("cells/ID/scenario.toml is the scenario of a cell, with every setting."));
  };

  header();
  matrix();
  differences();
  figures();
  table();
  cells();
  scenario();
  report.append(element("footer", {}, `Made from cells of narrows ${data.engine}. This file needs no network.`));
  document.body.dataset.drawn = data.title;
})();
