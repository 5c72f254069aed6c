// Speed of the demo in a page beside that of the command, one thread each: node speed.mjs
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Engine } from "./engine.js";

const { NARROWS_ENGINE: module, NARROWS_COMMAND: command } = process.env;
const REPEATED = 5;
// The first variant of `narrows demo`.
const SETS = ["traffic.wan.pattern={ long_lived = { flows = 6, from = \"dc0/rack0/*\", to = \"dc1/*\" } }", "stop.after=200 ms", "traffic.wan.cc={ bbr = {} }"];

const place = mkdtempSync(join(tmpdir(), "narrows-speed-"));
const engine = await Engine.load(readFileSync(module));
const { text } = engine.catalog().templates.find(({ name }) => name === "two-dc-mix");
writeFileSync(join(place, "demo.toml"), text);

/** Seconds and packet-hops of simulating, without reading and writing. */
const inPage = (live) => {
  const { handle } = engine.start(text, { sets: SETS, live });
  const began = performance.now();
  let state;
  do state = engine.slice(handle, 50); while (!state.done);
  const seconds = (performance.now() - began) / 1e3;
  engine.drop(handle);
  return state.packet_hops / seconds / 1e6;
};
/** As the command says: its runs are read, simulated and written. */
const native = () => {
  const settings = SETS.flatMap((set) => ["--set", set]);
  const { stderr } = spawnSync(command, ["run", join(place, "demo.toml"), "--out", join(place, "out"), "--overwrite", ...settings], { encoding: "utf8" });
  return Number(/([\d.]+) M packet-hops\/s/.exec(stderr)?.[1]);
};
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const speeds = { command: [], page: [], watched: [] };
for (let number = 0; number < REPEATED; number += 1) {
  speeds.command.push(native());
  speeds.page.push(inPage(false));
  speeds.watched.push(inPage(true));
}
rmSync(place, { recursive: true, force: true });
const [base, page, watched] = [speeds.command, speeds.page, speeds.watched].map(median);
console.log(`demo, M packet-hops/s, median of ${REPEATED}: command ${base}, page ${page.toFixed(1)} (${(page / base).toFixed(2)}), ` +
  `page with queues and rates shown ${watched.toFixed(1)} (${(watched / base).toFixed(2)})`);
