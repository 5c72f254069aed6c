"use strict";
(() => {
  const header = () => {
    report.append(
      element("h1", {}, data.title),
      element("p", { class: "soft" }, `${data.network} · ${data.seeds} · narrows ${data.version}`),
    );
    if (!data.complete) report.append(element("p", { class: "notes" }, "Interrupted: these results are not complete."));
    for (const warning of data.warnings) report.append(element("p", { class: "notes" }, warning));
  };

  /** Empty if there is one sample only, or all samples are equal. */
  const interval = (estimate) =>
    estimate.interval && estimate.interval[0] < estimate.interval[1]
      ? ` [${number(estimate.interval[0], 3)}, ${number(estimate.interval[1], 3)}]`
      : "";

  const summary = () => {
    const several = data.cells.length > 1;
    const head = element("tr", {}, element("th", {}, ""));
    data.cells.forEach((cell, index) => {
      head.append(element("th", {}, cell.name));
      if (several && index > 0) head.append(element("th", {}, `${cell.name} / ${data.cells[0].name}`));
    });
    const body = element("tbody");
    for (const group of data.summary) {
      const columns = 2 * data.cells.length;
      body.append(element("tr", { class: "group" }, element("th", { colspan: columns }, group.name)));
      for (const row of group.rows) {
        const line = element("tr", {}, element("td", {}, row.label));
        row.values.forEach((value, index) => {
          const cell = element("td", {}, value ? number(value.mean) : "–");
          if (value && interval(value)) cell.append(element("span", { class: "interval" }, interval(value)));
          line.append(cell);
          if (several && index > 0) line.append(ratio(row, index));
        });
        body.append(line);
      }
    }
    const table = element("table", {}, element("thead", {}, head), body);
    section("Summary", element("div", { class: "scroll" }, table));
    const notes = [
      "Completion times count from the hand-over of the data to the arrival of its last byte. Slowdown is the completion " +
        "time divided by that on the empty network, headers and every hop included. Unfinished flows have no completion " +
        "time; they are counted.",
    ];
    if (data.intervals) notes.push("In brackets: 95 % confidence interval over seeds (Student's t); ratios are taken seed by seed.");
    report.append(element("p", { class: "soft" }, notes.join(" ")));
  };

  /** The ratio to the first column, coloured if its interval excludes 1. */
  const ratio = (row, index) => {
    const estimate = row.ratios[index];
    if (!estimate) return element("td", { class: "soft" }, "–");
    const sure = estimate.interval && (estimate.interval[0] > 1 || estimate.interval[1] < 1);
    const better = row.lower_is_better === null ? null : estimate.mean < 1 === row.lower_is_better;
    const kind = sure && better !== null ? (better ? "better" : "worse") : "";
    const cell = element("td", { class: kind }, `${number(estimate.mean)}×`);
    if (interval(estimate)) cell.append(element("span", { class: "interval" }, interval(estimate)));
    return cell;
  };

  const activity = () => {
    const head = element("tr", {}, element("th", {}, ""));
    data.cells.forEach((cell) => head.append(element("th", {}, cell.name)));
    const body = element("tbody");
    data.activity.filter((row) => row.times.some((times) => times > 0)).forEach((row) => {
      const line = element("tr", {}, element("td", {}, row.what));
      row.times.forEach((times) => line.append(element("td", {}, number(times))));
      body.append(line);
    });
    const never = data.activity.filter((row) => row.times.every((times) => times === 0)).map((row) => row.what);
    section("Activity", element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), body)));
    report.append(element("p", { class: "never" }, `Never happened: ${never.length ? never.join(", ") : "nothing on the list"}.`));
  };

  const charts = () => {
    const several = data.cells.length > 1;
    const label = (cell, name) => (several ? `${cell.name}: ${name}` : name);
    const each = (take) => data.cells.flatMap((cell, index) => take(cell, index));
    const names = [...new Set(each((cell) => cell.charts.groups.map((group) => group.name)))];

    const times = element("div", { class: "grid" });
    section("Completion times", times);
    for (const name of names) {
      const of = (cell) => cell.charts.groups.filter((group) => group.name === name);
      const tag = (cell, group) => (several ? cell.name : group.control);
      chart(times, {
        title: `${name}: distribution of completion times`, caption: `measured flows that finished, seed ${data.chart_seed}`,
        x: "completion time in µs", y: "fraction of flows", xLog: true, stepped: true,
        series: each((cell, index) => of(cell).map((group) => ({ name: tag(cell, group), points: group.fct_cdf, colour: index }))),
      });
      chart(times, {
        title: `${name}: slowdown by flow size`, caption: "solid: 99th percentile, dashed: median; one point per tenth of the flows",
        x: "flow size in bytes", y: "slowdown", xLog: true, yLog: true,
        series: each((cell, index) => of(cell).flatMap((group) => [
          { name: `${tag(cell, group)} p99`, points: group.slowdown.map((bin) => [bin.size, bin.p99]), colour: index },
          { name: `${tag(cell, group)} p50`, points: group.slowdown.map((bin) => [bin.size, bin.p50]), colour: index, dash: true },
        ])),
      });
    }

    const recorded = element("div", { class: "grid" });
    const over = (title, caption, y, take) => {
      for (const cell of data.cells) {
        chart(recorded, {
          title: several ? `${cell.name}: ${title}` : title, caption, x: "time in ms", y,
          series: take(cell.charts).map((series) => ({ name: series.name, points: series.points })),
        });
      }
    };
    section("Over time", recorded);
    over("queue depth", "deepest recorded ports; the most that waited in each interval", "kB waiting", (charts) => charts.queues);
    over("rate of flows", "payload acknowledged; the recorded flows of each group that delivered most", "Gb/s", (charts) => charts.rates);
    over("congestion window", "the recorded flows of each group that delivered most", "kB", (charts) => charts.windows);
    if (!recorded.childElementCount) {
      recorded.replaceWith(element("p", { class: "soft" }, "Nothing was recorded over time. Add [record] to the scenario."));
    }
  };

  header();
  summary();
  activity();
  charts();
  report.append(element("footer", {}, `Drawn from results of narrows ${data.version}. This file needs no network.`));
})();
