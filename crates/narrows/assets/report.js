"use strict";
(() => {
  const several = data.cells.length > 1;
  /** Warnings that are seen at once. */
  const NOTES = 3;
  /** Cells in which ports were paused, and how many of these ports are listed. */
  const paused = data.cells.filter(({ pauses }) => pauses.ports.length);
  const PORTS = 20;
  /** Cells with collectives, and how many of their iterations are listed. */
  const collective = data.cells.filter(({ collectives }) => collectives.length);
  const ITERATIONS = 20;

  const seedsOf = ({ seeds }) => {
    const inRow = seeds.every((seed, index) => index === 0 || seed === seeds[index - 1] + 1);
    if (seeds.length === 1) return `seed ${seeds[0]}`;
    return inRow ? `seeds ${seeds[0]} to ${seeds.at(-1)}` : `seeds ${seeds.join(", ")}`;
  };

  const header = () => {
    const seeds = [...new Set(data.cells.map(seedsOf))];
    const places = [...(data.opening ? ["At a glance"] : []), "Summary", "Activity", ...(paused.length ? ["Pauses"] : []), ...(collective.length ? ["Collectives"] : []), "Completion times", "Over time", "The tail", "Scenario"];
    const link = (name) => element("li", {}, element("a", { href: `#${name.toLowerCase().replaceAll(" ", "-")}` }, name));
    report.append(
      element("h1", {}, data.title),
      element("p", { class: "soft" }, `${data.network} · ${seeds.length === 1 ? seeds[0] : "several seeds"} · narrows ${data.version}`),
      element("ul", { class: "top" }, ...places.map(link), element("li", {}, themeButton())),
    );
    if (!data.complete) report.append(element("p", { class: "notes" }, "Interrupted: these results are not complete."));
    if (data.opening) opening(data.opening);
    const notes = data.warnings.map((warning) => element("p", { class: "notes" }, warning));
    report.append(...notes.slice(0, NOTES));
    if (notes.length > NOTES) report.append(element("details", {}, element("summary", {}, counted(notes.length - NOTES, "more warning")), ...notes.slice(NOTES)));
  };

  /** A value, and its interval or range. */
  const cell = (value) => {
    if (!value) return element("td", { class: "soft" }, "–");
    const made = element("td", value.verdict ? { class: value.verdict } : {}, narrow(value.text));
    if (value.spread) made.append(" ", element("span", { class: "interval" }, narrow(value.spread.trim())));
    return made;
  };

  const summary = () => {
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
          line.append(cell(value));
          if (several && index > 0) line.append(cell(row.ratios[index]));
        });
        body.append(line);
      }
    }
    const table = cards(element("table", {}, element("thead", {}, head), body));
    section("Summary", tableBlock("Summary", table));
    data.legend.forEach((line) => report.append(element("p", { class: "soft" }, line)));
    const notes = [
      "Completion times count from the hand-over of the data to the arrival of its last byte. Slowdown is the completion " +
        "time divided by that on the empty network, headers and every hop included. Unfinished flows have no completion " +
        "time; they are counted. Rows of the whole run count from the first packet to the last; times and numbers of flows are of those " +
        "that start in the measured time (measure.from to measure.until), and all other rows are of that time.",
    ];
    if (data.cells.some(({ seeds }) => seeds.length > 1)) {
      notes.push("Values are geometric means over seeds (arithmetic if a seed has 0); ratios are taken seed by seed. In brackets: 95 % " +
        "confidence interval (Student's t of logarithms). In parentheses, with fewer than three seeds or a seed that has 0: the " +
        "smallest and the largest value.");
    }
    report.append(element("p", { class: "soft" }, notes.join(" ")));
  };

  const activity = () => {
    const head = element("tr", {}, element("th", {}, ""));
    data.cells.forEach((cell) => head.append(element("th", {}, cell.name)));
    const body = element("tbody");
    data.activity.filter((row) => row.happened).forEach((row) => {
      const line = element("tr", { title: row.meaning }, element("td", {}, row.what));
      row.times.forEach((times) => line.append(element("td", /[1-9]/.test(times) ? {} : { class: "soft" }, narrow(times))));
      body.append(line);
    });
    const never = data.activity.filter((row) => !row.happened).map((row) => row.what);
    section("Activity", tableBlock("Activity", cards(element("table", {}, element("thead", {}, head), body))));
    report.append(element("p", { class: "never" }, `Never happened: ${never.length ? never.join(", ") : "nothing on the list"}.`));
  };

  /** Where pauses began, and the ports that were paused. */
  const pauses = () => {
    if (!paused.length) return;
    section("Pauses");
    for (const { name, seeds, pauses: { ports, roots } } of paused) {
      const title = [several && name, seeds.length > 1 && `seed ${seeds[0]}`].filter(Boolean).join(", ");
      const say = (text) => report.append(element("p", {}, title ? `${title}: ${text}` : text));
      for (const root of roots) {
        say(`Pauses begin at ${root.from}, whose queue to ${root.to} had up to ${kB(root.max_backlog_bytes)} and was never paused itself; it sent ${counted(root.pauses, "pause")}.`);
      }
      if (!roots.length) say("Wherever pauses were sent, the fullest queue was paused itself.");
      const stops = ports.some((port) => port.longest_stop_ps);
      const heads = ["port", "paused by", "for, ms", "of the run", ...(stops ? ["longest stop with packets waiting, µs"] : [])];
      const rows = ports.slice(0, PORTS).map((port) => element("tr", {}, ...[
        port.from, port.to, number(port.paused_ps / 1e9), percent(port.share), ...(stops ? [number(port.longest_stop_ps / 1e6)] : []),
      ].map((text) => element("td", {}, text))));
      const caption = `${title ? `${title}: ` : ""}${ports.length > PORTS ? `the ${PORTS} ports that were paused longest, of ${ports.length}` : "ports that were paused"}`;
      report.append(tableBlock(caption, cards(element("table", { class: "dense" }, element("caption", {}, caption),
        element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", {}, text)))), element("tbody", {}, ...rows)))));
    }
  };

  /** Iterations of collectives: how long, which rank was the last, and which message and queue cost it most time. */
  const collectives = () => {
    if (!collective.length) return;
    section("Collectives");
    for (const { name, seeds, collectives: rows } of collective) {
      const title = [several && name, seeds.length > 1 && `seed ${seeds[0]}`].filter(Boolean).join(", ");
      const ms = (ps) => (ps === null ? "–" : number(ps / 1e9));
      const heads = ["", "iteration", "time, ms", "bus bandwidth, Gb/s", "first rank before the last, ms", "slowest rank", "its latest message", "step", "late by, ms", "all before it, ms", "fullest port of its path", "held up to"];
      const shown = [...rows].sort((a, b) => (b.time_ps ?? Infinity) - (a.time_ps ?? Infinity)).slice(0, ITERATIONS);
      const body = shown.map((row) => element("tr", {}, ...[
        row.group, row.iteration, row.time_ps === null ? "unfinished" : ms(row.time_ps), row.bus_bps === null ? "–" : number(row.bus_bps / 1e9), ms(row.spread_ps),
        `${row.slowest_rank} (${row.slowest_host})`, row.late_src ? `${row.late_src} → ${row.late_dst}` : "–", row.late_step ?? "–", ms(row.late_ps), ms(row.all_late_ps),
        row.late_port ? `${row.late_port} → ${row.late_port_to}` : "–", row.late_backlog_bytes === null ? "–" : kB(row.late_backlog_bytes),
      ].map((text) => element("td", {}, `${text}`))));
      const caption = `${title ? `${title}: ` : ""}${rows.length > ITERATIONS ? `the ${ITERATIONS} slowest iterations of ${rows.length}` : "iterations, the slowest first"}`;
      report.append(tableBlock(caption, cards(element("table", { class: "dense" }, element("caption", {}, caption),
        element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", {}, text)))), element("tbody", {}, ...body)))));
    }
    report.append(element("p", { class: "soft" }, "The latest message: of those that led to the last one that the slowest rank received, each of which was waited for, the one that took longest beyond its time on the empty network; before it, all of them together. The port is the one of its path where most waited: while it was under way if queues of its path were recorded, otherwise in the whole run."));
  };

  const times = () => {
    const names = [...new Set(data.cells.flatMap((cell) => cell.groups.map((group) => group.name)))];
    const grid = element("div", { class: "grid" });
    section("Completion times", grid);
    const bands = data.intervals ? "; bands: 95 % confidence interval over seeds" : "";
    for (const name of names) {
      const found = data.cells.flatMap((cell, index) => cell.groups.filter((group) => group.name === name).map((group) => [cell, group, index]));
      const tag = (cell, group) => (several ? cell.name : group.control);
      const around = (low, high) => [...low, ...high.reverse()];
      chart(grid, {
        title: `${name}: distribution of completion times`, caption: `measured flows that finished${bands}`,
        x: "completion time in µs", y: "fraction of flows", xLog: true, stepped: true,
        series: found.map(([cell, group, index]) => ({
          name: tag(cell, group), color: index, points: group.cdf.map(([time, share]) => [time, share]),
          area: data.intervals ? around(group.cdf.map(([, share, low]) => [low, share]), group.cdf.map(([, share, , high]) => [high, share])) : undefined,
        })),
      });
      const ends = (classes, key, end) => classes.map((each) => [each.size, (each[key].interval || [each[key].mean, each[key].mean])[end]]);
      const of = ([cell, group, index], key) => ({
        name: `${tag(cell, group)} ${key}`, color: index, dash: key === "p50", points: group.slowdown.map((each) => [each.size, each[key].mean]), signs: signsOf(group, key),
        area: data.intervals ? around(ends(group.slowdown, key, 0), ends(group.slowdown, key, 1)) : undefined,
      });
      chart(grid, {
        title: `${name}: slowdown by flow size`, caption: `solid: 99th percentile, dashed: median; five classes of size in a decade${bands}${legendOf(found.map(([, group]) => group))}`,
        x: "flow size in bytes", y: "slowdown", xLog: true, yLog: true,
        series: found.flatMap((each) => [of(each, "p99"), of(each, "p50")]),
      });
    }
    if (!names.length) grid.replaceWith(element("p", { class: "soft" }, "No measured flow has finished."));
  };

  /** What distinguishes the slowest flows from the others. */
  const tails = (into, cell, { jump, met } = {}) => {
    for (const group of cell.groups.filter(({ tail }) => tail)) {
      const { flows: [all, slowest], rows } = group.tail;
      const head = element("tr", {}, ...["", `all ${number(all)} flows`, `slowest ${number(slowest)}`].map((text) => element("th", {}, text)));
      const body = rows.map(([what, values]) => element("tr", {}, element("td", {}, what), ...values.map((value) => element("td", {}, number(value)))));
      const table = cards(element("table", {}, element("caption", {}, `${group.name}: the slowest flows beside all`), element("thead", {}, head), element("tbody", {}, ...body)));
      const found = group.slowest.map((flow) => met?.(flow));
      const show = (flow) => element("button", {
        type: "button", "aria-label": `Show flow ${flow.flow} over time`, onclick: () => jump(flow.start_ms, flow.start_ms + flow.fct_us / 1e3),
      }, "show");
      // Each column: its head, what it shows, and whether there is anything to show.
      const any = (value) => group.slowest.some(value);
      const columns = [
        ["flow", (flow) => String(flow.flow), true],
        ["from → to", (flow) => `${flow.src} → ${flow.dst}`, true],
        ["", show, Boolean(jump)],
        ["bytes", (flow) => number(flow.size), true],
        ["start, ms", (flow) => String(Number(flow.start_ms.toPrecision(6))), true],
        ["time, µs", (flow) => number(flow.fct_us), true],
        ["slowdown", (flow) => number(flow.slowdown), true],
        ["retransmitted", (flow) => String(flow.retransmissions), any((flow) => flow.retransmissions)],
        ["timeouts", (flow) => String(flow.timeouts), any((flow) => flow.timeouts)],
        ["marked", (flow) => percent(flow.marked), any((flow) => flow.marked)],
        ["peak queue on its paths", (_, index) => found[index]?.queue ?? "–", found.some((each) => each)],
        ["time stopped, worst port on its paths", (_, index) => found[index]?.stopped || "–", found.some((each) => each?.stopped)],
      ].filter(([, , wanted]) => wanted);
      const heads = columns.map(([head]) => head);
      const list = group.slowest.map((flow, index) => element("tr", {}, ...columns.map(([, value]) => element("td", {}, value(flow, index)))));
      const flows = cards(element("table", { class: "dense" }, element("caption", {}, `${group.name}: the slowest flows`), element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", {}, text)))), element("tbody", {}, ...list)));
      into.append(tableBlock(`${group.name}: the slowest flows beside all`, table), tableBlock(`${group.name}: the slowest flows`, flows));
    }
  };

  const time = () => {
    const shown = data.cells.filter((cell) => cell.over_time);
    const into = element("div");
    const tail = element("div");
    const choice = element("select", { "aria-label": "Run", onchange: () => show() }, ...shown.map((cell, index) => element("option", { value: index }, cell.name)));
    const show = async () => {
      into.replaceChildren();
      tail.replaceChildren();
      const cell = shown[Number(choice.value) || 0];
      if (!cell) return;
      tails(tail, cell, await overTime(into, cell.over_time));
      document.body.dataset.drawn = cell.name;
    };
    const pair = element("div");
    section("Over time", pair, ...(shown.length > 1 ? [element("div", { class: "tools" }, element("label", {}, "Run: ", choice))] : []), into);
    if (data.cells.some((cell) => cell.seeds.length > 1)) pair.before(element("p", { class: "soft" }, `Of seed ${data.cells[0].seeds[0]}.`));
    section("The tail", tail);
    // What one run cannot unpack is said below, where it is drawn.
    if (shown.length === 2) both(pair, shown).catch(() => pair.replaceChildren());
    return show();
  };

  const scenarios = () => {
    const text = (cell) => element("details", {}, element("summary", {}, several ? cell.name : "scenario.toml", `, ${seedsOf(cell)}`),
      element("pre", { tabindex: "0" }, cell.scenario), saves(`scenario ${cell.name}`, { toml: ["text/plain", () => cell.scenario] }));
    section("Scenario", ...data.cells.map(text));
  };

  header();
  summary();
  activity();
  pauses();
  collectives();
  times();
  const drawn = time();
  scenarios();
  report.append(element("footer", {}, `Made from results of narrows ${data.version}. This file needs no network.`));
  drawn.catch((error) => report.append(element("p", { class: "notes" }, `Recorded data could not be drawn: ${error.message}`)));
})();
