"use strict";
(() => {
  // Signs beside colors, for readers who do not tell these apart.
  const SIGNS = { match: "✓", calibrated: "=", shape: "≈", explained: "!", open: "?", miss: "✗" };
  const verdict = (name) => element("td", { class: name }, `${SIGNS[name]} ${name}`);
  const text = (content) => element("td", { class: "text" }, content);
  const soft = (content) => element("p", { class: "soft" }, content);

  const TEXTS = ["claim", "source", "why", "chosen by the numbers of"];
  const table = (heads, rows) => {
    const th = (head) => element("th", TEXTS.includes(head) ? { class: "text" } : {}, head);
    const head = element("tr", {}, ...heads.map(th));
    const body = element("tbody", {}, ...rows);
    return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), body));
  };

  const header = () => {
    report.append(
      element("h1", {}, data.title),
      soft(data.source),
      element("p", {}, data.about),
      soft(data.caption),
      element("p", {}, ...Object.entries(data.tally).flatMap(([name, count]) => [
        element("strong", { class: name }, `${SIGNS[name]} ${count} ${name}`), "\u2003",
      ])),
      element("p", {}, `${data.tallies}.${data.left_out}`),
    );
    if (data.summary) summary(data.summary);
  };

  /** What was reproduced, what was not, why, and what is fitted; then the verdicts of each figure. */
  const summary = ({ verdicts, figures, answers }) => {
    const answer = ([question, text]) => element("li", {}, element("strong", {}, question), `: ${text}`);
    const row = ([name, claims, counts]) => element("tr", {}, text(name),
      ...[claims, ...counts].map((count, column) => element("td", column && count ? { class: verdicts[column - 1] } : {}, count || "–")));
    report.append(
      element("ul", {}, ...answers.map(answer)),
      table(["", "claims", ...verdicts.map((name) => `${SIGNS[name]} ${name}`)], figures.map(row)),
    );
  };

  const hasReported = ({ rows }) => rows.some(({ cells }) => cells.some((cell) => cell?.reported));

  /** The paper's table: of each cell what is reported, if anything is, and below it what was measured. */
  const cells = ({ columns, rows }) => {
    const twice = hasReported({ rows });
    // What was measured stands on the second line of every cell if one of the table has what was reported on the first.
    const sign = (verdict) => element("i", { class: "sign" }, SIGNS[verdict] ?? "");
    const cell = (claim) => {
      if (!claim) return element("td", { class: "soft" }, "");
      const measured = element("span", claim.verdict ? { class: claim.verdict } : {}, claim.measured, ...(twice ? [sign(claim.verdict)] : []));
      return element("td", {}, ...(twice ? [claim.reported ?? "", sign(), element("br")] : []), measured);
    };
    const line = ({ label, cells }) => element("tr", {}, element("td", {}, label), ...cells.map(cell));
    return table(["", ...columns], rows.map(line));
  };

  const claims = (list) => table(["claim", "source", "reported", "measured", "class", "verdict"], list.flatMap((claim, place) => {
    const row = element("tr", { id: claim.id, title: `${claim.id}: ${claim.quantity}` }, text(claim.statement), text(claim.source),
      ...["reported", "measured", "class"].map((key) => element("td", {}, claim[key])), verdict(claim.verdict));
    const uncounted = claim.not_counted ? `not counted: ${claim.not_counted}. ` : "";
    const explanation = `${uncounted}${claim.explanation ?? ""}`;
    if (!explanation) return [row];
    row.setAttribute("class", "told");
    // What explains several claims stands below the first of them.
    const first = list.slice(0, place).find((other) => !claim.not_counted && other.explanation === claim.explanation);
    const shown = first ? `as above: ${first.statement}` : explanation;
    const why = element("td", { class: "text soft", colspan: 6 }, `${SIGNS[claim.verdict]} ${shown}`);
    return [row, element("tr", { class: "why" }, why)];
  }));

  const drawing = (grid, { title, x, y, style, curves, references }) => {
    const across = (kind) => references.flatMap((reference) => (reference[kind] ? [reference[kind]] : []));
    const looks = { paper: `${style === "points" ? "hollow" : "dashed"}: the paper's`, theory: "dotted: theory" };
    const others = Object.keys(looks).filter((kind) => curves.some(({ origin }) => origin === kind));
    const key = others.map((kind) => ` · ${looks[kind]}`).join("");
    const drawn = { measured: {}, paper: { dash: "dashed" }, theory: { dash: "dotted", dots: false } };
    chart(grid, {
      title, caption: `measured${key}`, x: x.label, xLog: x.log, y: y.label, yLog: y.log,
      stepped: style === "steps", dots: style === "points",
      horizontal: across("horizontal"), vertical: across("vertical"),
      series: curves.map(({ label, points, color, origin }) => ({ name: label, points, color, ...drawn[origin] })),
    });
  };

  const figure = ({ name, title, shows, tables, charts, parts }) => {
    const list = parts.flatMap((part) => part.claims);
    const all = (of) => parts.flatMap((part) => {
      const those = part.claims.filter(of);
      return those.length ? [element("p", {}, element("strong", {}, part.heading)), claims(those)] : [];
    });
    section(`${name}: ${title}`, element("p", {}, shows));
    for (const each of tables) report.append(cells(each));
    if (tables.length) report.append(soft(tables.some(hasReported) ? "Above: reported; below: measured." : "Measured."));
    const drawn = charts.filter(({ curves }) => curves.length > 0);
    const grid = element("div", { class: "grid" });
    if (drawn.length) report.append(grid);
    for (const each of drawn) drawing(grid, each);
    if (list.length === 0) {
      if (drawn.length === 0) report.append(soft("Left out by the quick form."));
      return;
    }
    if (tables.length === 0) {
      report.append(...all(() => true));
      return;
    }
    // What the table shows and what matches is there for those who want its sources.
    report.append(...all((claim) => claim.explanation || claim.relation));
    const summary = element("summary", {}, `all claims of ${name} with their sources`);
    report.append(element("details", {}, summary, ...all(() => true)));
  };

  const parameters = () => {
    if (data.parameters.length === 0) return;
    const heads = ["parameter", "value", "why", "chosen by the numbers of"];
    section("What the paper leaves open", table(heads, data.parameters.map(({ name, value, why, fitted }) =>
      element("tr", {}, text(name), text(value), text(why), text(fitted.join(", "))))));
    const varied = data.parameters.filter(({ rows }) => rows.length > 0);
    if (varied.length === 0) return;
    section("How much it matters", soft(data.rows));
    for (const { name, watched, rows } of varied) {
      report.append(table([name, ...watched], rows.map(({ value, found }) =>
        element("tr", {}, ...[value, ...found].map((each) => element("td", {}, each))))));
    }
  };

  header();
  if (data.errors.length) {
    section("Errors of this page", element("ul", {}, ...data.errors.map((error) => element("li", {}, error))));
  }
  data.figures.forEach(figure);
  parameters();
  if (data.warnings.length) {
    section("Warnings of the scenarios", element("ul", {}, ...data.warnings.map((warning) => element("li", {}, warning))));
  }
  section("Verdicts", soft(data.verdicts));
  report.append(element("footer", {}, "Scenarios of all experiments are in the folder scenarios/. This file needs no network."));
})();
