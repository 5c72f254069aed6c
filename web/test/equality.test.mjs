// The engine in a page and the command leave the same bytes: every file of every built-in scenario, example, scenario of a paper and
// scenario of the command's tests. NARROWS_ENGINE is the module, NARROWS_COMMAND the command.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Engine, Rejected } from "../engine.js";

const { NARROWS_ENGINE: module, NARROWS_COMMAND: command } = process.env;
const skip = !module || !command ? "NARROWS_ENGINE and NARROWS_COMMAND are not set" : false;
const root = fileURLToPath(new URL("../..", import.meta.url));
const place = mkdtempSync(join(tmpdir(), "narrows-equality-"));
after(() => rmSync(place, { recursive: true, force: true }));

/** All files below a folder, by their paths in it. */
const filesIn = (folder) => readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

/** Papers simulate seconds. Their runs end early here, some of them before they begin. */
const shortened = ["stop={ after = '3 ms' }", "measure={}", "expect=[]"];

const scenarios = (engine) => {
  const { templates, examples, papers } = engine.catalog();
  const goldens = readdirSync(join(root, "crates/narrows-cli/tests/cmd")).filter((name) => name.endsWith(".in")).flatMap((name) => {
    const folder = join(root, "crates/narrows-cli/tests/cmd", name);
    const text = (file) => readFileSync(join(folder, file), "utf8");
    const beside = filesIn(folder).filter((file) => /\.(csv|txt)$/.test(file));
    const files = Object.fromEntries(beside.map((file) => [file, text(file)]));
    const all = filesIn(folder).filter((file) => file.endsWith(".toml") && !file.includes("/"));
    return all.map((file) => ({ name: `${name}/${file}`, text: text(file), files, sets: [], mayBeRefused: true }));
  });
  const ofPapers = papers.flatMap(({ name, scenarios }) =>
    scenarios.map((one) => ({ ...one, name: `${name}/${one.name}`, sets: [...one.sets, ...shortened], mayBeRefused: true })));
  const testbed = readFileSync(join(root, "examples/dctcp-queue/testbed.toml"), "utf8");
  return [...templates, ...examples, { name: "dctcp-queue", text: testbed, files: {}, sets: shortened }, ...ofPapers, ...goldens];
};

/** What the command makes of a scenario: its files, or nothing and what it said. */
const native = ({ name, text, files, sets }) => {
  const folder = join(place, name.replaceAll("/", "_"));
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), content);
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "scenario.toml"), text);
  const out = join(folder, "out");
  const settings = sets.flatMap((set) => ["--set", set]);
  const ran = spawnSync(command, ["run", join(folder, "scenario.toml"), "--out", out, "--quiet", ...settings], { encoding: "utf8" });
  // 1: something that was expected does not hold. The results are there.
  if (ran.status > 1) return { said: ran.stderr };
  return { files: Object.fromEntries(filesIn(out).map((file) => [file, readFileSync(join(out, file))])) };
};

/** What the engine makes of it. */
const inPage = (engine, { text, files, sets }) => {
  try {
    const { handle } = engine.start(text, { sets, files });
    while (!engine.slice(handle, 50).done);
    const { id } = engine.finish(handle);
    const found = Object.fromEntries(engine.files(id).map(({ name }) => [name, engine.file(id, name)]));
    engine.forget(id);
    return { files: found };
  } catch (error) {
    if (error instanceof Rejected) return { refused: error.diagnostics };
    throw error;
  }
};

const engine = skip ? null : await Engine.load(readFileSync(module));

for (const scenario of skip ? [] : scenarios(engine)) {
  test(`the files of ${scenario.name} are the same in a page`, () => {
    const [expected, found] = [native(scenario), inPage(engine, scenario)];
    if (expected.said !== undefined) {
      assert.ok(scenario.mayBeRefused, `${scenario.name}: ${expected.said}`);
      const codes = [...expected.said.matchAll(/^(N\d{4})$/gm)].map(([, code]) => code);
      assert.deepEqual(found.refused?.map(({ code }) => code), codes);
      return;
    }
    assert.deepEqual(found.refused, undefined);
    assert.deepEqual(Object.keys(found.files).sort(), Object.keys(expected.files).sort());
    for (const [name, content] of Object.entries(expected.files)) {
      assert.ok(Buffer.compare(content, found.files[name]) === 0, `${scenario.name}: ${name} differs`);
    }
  });
}

test("results of the command are opened as they are", { skip }, () => {
  const { text } = engine.catalog().templates.find(({ name }) => name === "dumbbell");
  const stored = native({ name: "opened", text, files: {}, sets: ["stop.after=50 ms"] });
  const [opened] = engine.openResult(stored.files);
  assert.equal(opened.scenario, "dumbbell");
  const page = Buffer.from(engine.file(opened.id, "report.html"));
  assert.ok(Buffer.compare(page, stored.files["report.html"]) === 0);
});
