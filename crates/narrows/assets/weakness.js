"use strict";
(() => {
  const { found, cases } = data;
  const soft = (...children) => element("p", { class: "soft" }, ...children);
  const mbps = (bits) => `${number(bits / 1e6, 3)} Mb/s`;
  const score = (value) => value.toFixed(3);

  const header = () => {
    const places = [["Search", "#search"], ...cases.map((_, index) => [`Case ${index + 1}`, `#case-${index + 1}`])];
    const link = ([name, to]) => element("li", {}, element("a", { href: to }, name));
    report.append(
      element("h1", {}, data.title),
      soft(`narrows break ${found.control} --objective ${found.objective} · seed ${found.seed} · ${counted(found.evaluations, "path")} tried in ${counted(found.runs, "run")} · narrows ${found.engine}`),
      element("ul", { class: "top" }, ...places.map(link), element("li", {}, themeButton())),
      element("p", {}, cases.length
        ? `Paths on which others do well and ${found.control} does not: ${data.summary}. Badness is ${found.meaning}: 0 for who knows the path beforehand. The score of a path is the badness of ${found.control} less that of the best other control in its place that delivers.`
        : `No path was found on which ${found.control} does worse than others in its place.`),
    );
  };

  const table = ({ references, badness, goodput, best }, index) => {
    const cells = (...texts) => texts.map((text, column) => element("td", column === 3 ? { class: "text" } : {}, text));
    const row = (name, badness, goodput, note) => element("tr", {}, ...cells(name, score(badness), mbps(goodput), note));
    const note = (other) => (other.control === best ? "best in its place" : other.delivers ? "" : "delivers too little");
    const head = element("thead", {}, element("tr", {}, ...["control", "badness", "goodput", ""].map((text) => element("th", {}, text))));
    const body = element("tbody", {}, row(found.control, badness, goodput, "under test"), ...references.map((other) => row(other.control, other.badness, other.goodput, note(other))));
    return tableBlock(`Controls on path ${index + 1}`, cards(element("table", {}, head, body)));
  };

  const drawn = (each, index) => {
    const grid = element("div", { class: "grid" });
    const seeds = each.other_seeds.map(score).join(", ");
    section(`Case ${index + 1}`,
      element("p", {}, element("strong", {}, each.path)),
      element("p", {}, `Score ${score(each.score)}; ${score(each.score_before)} before the path was made simple, ${seeds} with other seeds. The equal share of a connection is ${mbps(each.share)}.`),
      table(each, index), grid);
    const { senders, queue, rate } = each.curves;
    const series = senders.map(([name, points], color) => ({ name, points, color }));
    chart(grid, {
      title: "What is sent", caption: "by sender, mean of 100 ms · dotted: the bottleneck", x: "time, s", y: "Mb/s",
      series: [...series, { name: "bottleneck", points: rate, color: 7, dash: "dotted" }],
    });
    chart(grid, { title: "Queue", caption: "time that its bytes take, the most in 100 ms", x: "time, s", y: "ms", series: [{ name: "queue", points: queue }] });
    const text = element("details", {}, element("summary", {}, `worst/${index + 1}.toml, for narrows run`), element("pre", {}, each.text));
    report.append(text);
  };

  header();
  const grid = element("div", { class: "grid" });
  section("Search", grid);
  const perGeneration = found.evaluations / found.curve.length;
  chart(grid, {
    title: "Score of the best path", caption: "after each generation", x: "paths tried", y: "score", stepped: true, wide: true,
    series: [{ name: found.control, points: found.curve.map((best, index) => [Math.round((index + 1) * perGeneration), best]) }],
  });
  cases.forEach(drawn);
  report.append(element("footer", {}, `Paths are made simple as long as ${found.kept} % of the score stays. This file needs no network.`));
})();
