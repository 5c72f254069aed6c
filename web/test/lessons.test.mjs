// Numbers that lessons state, over the five seeds they speak of.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { compiled } from "./support/modules.mjs";

const { LESSONS, applied } = await compiled("lessons/lessons", "toml/edit");
const path = process.env.NARROWS_ENGINE;
const engine = path && (await (await import("../engine.js")).Engine.load(await readFile(path)));

const k = (size) => [`switches.default.marking.step.k="${size}"`];
const buffer = (size) => [`switches.default.buffer.size="${size}"`];
const dvl = ['switches.default.isolation={ scheme = "dvl" }'];
const alpha = (value) => [`switches.default.pfc.xoff.alpha=${value}`];
const fanIn = (count) => [`traffic.incast.pattern.incast.fan_in=${count}`];
const without = (signal) => ["wan", "dc"].map((group) => `traffic.${group}.cc.gemini.${signal}=false`);
const waits = (time) => [`traffic.wan.cc.gemini.delay_threshold="${time}"`];
const loop = (size) => [
  "traffic.dc.cc={ annulus = { end_to_end = { dctcp = {} } } }", "traffic.wan.cc={ annulus = { end_to_end = { bbr = {} } } }",
  `switches.default.congestion_point={ qcn = { set_point = "${size}", message = { reach = "tor_agg" } } }`,
];

/** Lesson, settings, and what is stated: means by group and metric, as the lesson rounds them. */
const CLAIMS = [
  ["dctcp-k", [], { "long.goodput_gbps": "9.41" }],
  ["dctcp-k", k("400 kB"), { "long.goodput_gbps": "9.41" }],
  ["dctcp-k", k("15 kB"), { "long.goodput_gbps": "9.41" }],
  ["dctcp-k", k("10 kB"), { "long.goodput_gbps": "9.36" }],
  ["dctcp-k", k("5 kB"), { "long.goodput_gbps": "9.22" }],
  ["dctcp-k", k("2 kB"), { "long.goodput_gbps": "9.06" }],
  ["bbr-shallow", [], { "bbr.goodput_gbps": "0.093", "cubic.goodput_gbps": "0.001", "bbr.retransmitted_fraction": "0.052" }],
  ["bbr-shallow", buffer("250 kB"), { "bbr.goodput_gbps": "0.090", "cubic.goodput_gbps": "0.004" }],
  ["bbr-shallow", buffer("500 kB"), { "bbr.goodput_gbps": "0.025", "cubic.goodput_gbps": "0.069", "bbr.retransmitted_fraction": "0.002" }],
  ["bbr-shallow", buffer("1000 kB"), { "bbr.goodput_gbps": "0.004" }],
  ["bbr-shallow", buffer("25 kB"), { "bbr.retransmitted_fraction": "0.062" }],
  ["pfc-victim", [], { "victim.p99_slowdown": "20", "victim.flows": "69", "incast.p50_fct_us": "1084", "total.pauses": "1647" }],
  ["pfc-victim", alpha("0.5"), { "victim.p99_slowdown": "15", "total.pauses": "712" }],
  ["pfc-victim", alpha("1"), { "victim.p99_slowdown": "13" }],
  ["pfc-victim", dvl, { "victim.p99_slowdown": "1.01", "victim.flows": "201", "incast.p50_fct_us": "1085" }],
  ["pfc-victim", fanIn(2), { "victim.p99_slowdown": "1.01" }],
  ["pfc-victim", fanIn(4), { "victim.p99_slowdown": "6.4" }],
  ["gemini-signals", [], { "wan.goodput_gbps": "0.94", "dc.goodput_gbps": "0.94" }],
  ["gemini-signals", without("delay"), { "total.drops": "10590", "wan.goodput_gbps": "0.94" }],
  ["gemini-signals", without("ecn"), { "total.drops": "544", "dc.goodput_gbps": "0.94" }],
  ["gemini-signals", waits("1 ms"), { "wan.goodput_gbps": "0.91" }],
  ["gemini-signals", waits("20 ms"), { "total.drops": "3403" }],
  ["annulus-loop", [], { "dc.p99_slowdown": "572", "wan.goodput_gbps": "18.4" }],
  ["annulus-loop", loop("300 kB"), { "dc.p99_slowdown": "51", "wan.goodput_gbps": "17.8" }],
  ["annulus-loop", loop("100 kB"), { "dc.p99_slowdown": "24", "wan.goodput_gbps": "16.2" }],
  ["annulus-loop", loop("33 kB"), { "dc.p99_slowdown": "12", "wan.goodput_gbps": "11.0" }],
];
const SEEDS = [1, 2, 3, 4, 5];

const results = (text) => SEEDS.map((seed) => {
  const { handle } = engine.start(text, { seed, live: false });
  while (!engine.slice(handle, 1000).done);
  return engine.finish(handle).id;
});

for (const [name, sets, stated] of CLAIMS) {
  test(`${name} ${sets.join(" ")}`, { skip: path ? false : "NARROWS_ENGINE names no module" }, () => {
    const ids = results(applied(LESSONS.find((lesson) => lesson.name === name).scenario, sets));
    const { summary } = engine.compare(name, [{ name, ids }]);
    for (const [metric, wanted] of Object.entries(stated)) {
      const [group, row] = metric.split(".");
      const mean = summary.find(({ name }) => name === group)?.rows.find(({ metric }) => metric === row)?.values[0].mean;
      assert.equal(mean?.toFixed(wanted.split(".")[1]?.length ?? 0), wanted, metric);
    }
    ids.forEach((id) => engine.forget(id));
  });
}
