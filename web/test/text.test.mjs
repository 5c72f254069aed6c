// Reading and changing scenarios as text, links, commands.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compiled } from "./support/modules.mjs";

const { layout, endingAt, namedPath, applied, quantity, fromStep, toStep, rangeAround, inUnit, encode, decode, shellCommand, pythonCommand, changes, namesOf, resultCells } =
  await compiled("toml/places", "toml/edit", "settings/quantity", "share/fragment", "share/command", "share/dropping", "results/names");

const TEXT = `version = 2
name = "x" # a comment, k = 1
[switches.default]
marking = { step = { k = "100 kB" } }

[[traffic]]
name = "a b"
cc = { dctcp = { gain = 0.0625 } }
[[traffic]]
name = "wan"
pattern.long_lived = { flows = 4, from = ["h0", "h1"] }
`;

test("keys have their path, elements of lists their number or name", () => {
  const found = layout(TEXT);
  const paths = found.entries.map(({ path }) => path.join("."));
  assert.ok(paths.includes("switches.default.marking.step.k"));
  assert.ok(paths.includes("traffic.1.pattern.long_lived.flows"));
  const entry = found.entries.find(({ path }) => path.join(".") === "traffic.0.cc.dctcp.gain");
  assert.equal(TEXT.slice(entry.value.from, entry.value.to), "0.0625");
  assert.equal(namedPath(found, entry.path), 'traffic."a b".cc.dctcp.gain');
});

test("unfinished text says what is being written", () => {
  const at = (text) => { const { at, path } = endingAt(text, text.length); return [at, path.join(".")]; };
  assert.deepEqual(at("[switches.tor]\nmark"), ["key", "switches.tor"]);
  assert.deepEqual(at("[switches.tor]\nmarking = "), ["value", "switches.tor.marking"]);
  assert.deepEqual(at("[switches.tor]\nmarking = { st"), ["key", "switches.tor.marking"]);
  assert.deepEqual(at('[[traffic]]\nname = "a"\ncc = { dctcp = {}, '), ["key", "traffic.0.cc"]);
  assert.deepEqual(at("[topology."), ["header", "topology"]);
  assert.deepEqual(at("name = # he"), ["elsewhere", ""]);
});

test("any text is read to its end", () => {
  const letters = '[]{}="\'\n\\ #,.a1';
  let state = 7;
  for (let turn = 0; turn < 3000; turn += 1) {
    let text = "";
    for (let index = 0; index < 24; index += 1) {
      state = (state * 1103515245 + 12345) % 2147483648;
      text += letters[state % letters.length];
    }
    for (const { value } of layout(text).entries) assert.ok(value.from <= value.to && value.to <= text.length, JSON.stringify(text));
  }
});

test("a long scenario is read in no time", () => {
  const long = '[[traffic]]\nname = "x"\ncc = { dctcp = {} }\n'.repeat(7000);
  const began = performance.now();
  const found = layout(long);
  found.entries.forEach(({ path }) => namedPath(found, path));
  assert.ok(performance.now() - began < 3000, `${performance.now() - began} ms`);
});

test("a setting is changed where it stands, added to its table, or removed", () => {
  assert.ok(applied(TEXT, ['switches.default.marking.step.k="5 kB"']).includes('k = "5 kB" } }'));
  assert.ok(applied(TEXT, ["switches.default.pfc={}"]).includes("[switches.default]\npfc = {}\nmarking"));
  assert.ok(applied(TEXT, ["traffic.wan.start=\"1 ms\""]).includes('[[traffic]]\nstart = "1 ms"\nname = "wan"'));
  assert.equal(applied(applied(TEXT, ["switches.default.pfc={}"]), ["switches.default.pfc="]), TEXT);
  assert.ok(applied(TEXT, ["traffic.wan.pattern.long_lived.flows="]).includes('long_lived = { from = ["h0"'));
  assert.ok(applied(TEXT, ["traffic.wan.pattern={ permutation = {} }"]).endsWith('[[traffic]]\npattern = { permutation = {} }\nname = "wan"\n'));
  assert.ok(applied(TEXT, ["switches.default.marking.step.at=dequeue"]).includes('{ step = { at = "dequeue", k = "100 kB" } }'));
  assert.ok(applied(TEXT, [`traffic."a b".cc.dctcp.initial_alpha=0.5`]).includes("{ dctcp = { initial_alpha = 0.5, gain = 0.0625 } }"));
  assert.ok(!applied(TEXT, ["switches={}"]).includes("marking"));
});

test("quantities keep their unit, sliders reach their ends", () => {
  assert.deepEqual(quantity('"100 kB"'), { value: 100, unit: "kB", quoted: true });
  assert.deepEqual(quantity("0.3"), { value: 0.3, unit: "", quoted: false });
  assert.equal(quantity('"host0"'), undefined);
  assert.equal(quantity('"a 5"'), undefined);
  assert.equal(inUnit(quantity('"2 MB"'), "kB"), 2000);
  assert.equal(inUnit(quantity('"2 MB"'), "ms"), undefined);
  const range = rangeAround(quantity('"64 kB"'), false);
  assert.deepEqual([fromStep(range, 0), fromStep(range, 60)], [4, 1024]);
  assert.equal(fromStep(range, toStep(range, 64)), 64);
});

const SHARED = { text: TEXT, seeds: 3, pins: [{ path: "a.b" }], sets: [], files: { "f.csv": "1,2\n" } };

test("a link comes back as it was", async () => {
  assert.deepEqual(await decode(await encode(SHARED)), SHARED);
});

test("hostile links are refused", async () => {
  await assert.rejects(decode("A".repeat(10_000_000)), /too long/);
  await assert.rejects(decode("%3Cscript%3E"), /characters/);
  await assert.rejects(decode("AAAA"), /damaged/);
  const bomb = new Response(new Blob([new Uint8Array(200e6)]).stream().pipeThrough(new CompressionStream("deflate-raw")));
  const packed = Buffer.from(await bomb.arrayBuffer()).toString("base64url");
  assert.ok(packed.length < 400_000);
  await assert.rejects(decode(packed), /unpacks to more/);
});

test("what a link holds is taken only if it is of the right kind", async () => {
  const odd = { text: "x", seeds: 1e9, pins: [1, { path: 5 }, { path: "k", from: "1 kB", to: "2 kB" }], files: { a: 1, b: "2" }, sets: "none" };
  const { seeds, pins, files, sets } = await decode(await encode(odd));
  assert.deepEqual({ seeds, pins, files, sets }, { seeds: 32, pins: [{ path: "k", from: "1 kB", to: "2 kB" }], files: { b: "2" }, sets: [] });
  await assert.rejects(decode(await encode({ text: 5 })), /no scenario/);
  await assert.rejects(decode(await encode({ text: "#".repeat(400_000) })), /characters/);
});

test("commands name what differs from a template, and hold the text otherwise", () => {
  const template = { name: "t", text: TEXT };
  const changed = TEXT.replace("100 kB", "30 kB");
  assert.deepEqual(changes(TEXT, changed), [["switches.default.marking.step.k", '"30 kB"']]);
  assert.equal(shellCommand({ text: changed, seeds: 5, template }), `narrows new x --template t\nnarrows run x.toml --set 'switches.default.marking.step.k="30 kB"' --seeds 5\n`);
  assert.ok(shellCommand({ text: `${changed}\n[record]\n`, seeds: 1, template }).startsWith("cat > x.toml <<'END'\n"));
  assert.ok(pythonCommand({ text: changed, seeds: 1, template }).includes('scenario.set(["switches.default.marking.step.k=\\"30 kB\\""])'));
});

test("runs are named by what differs, no two the same", () => {
  const other = TEXT.replace("100 kB", "30 kB");
  assert.deepEqual(namesOf([TEXT, other]), ["k 100 kB", "k 30 kB"]);
  const control = TEXT.replace("{ dctcp = { gain = 0.0625 } }", "{ cubic = {} }");
  assert.deepEqual(namesOf([TEXT, control]), ["cc dctcp", "cc cubic"]);
  assert.deepEqual(namesOf([TEXT, TEXT]), ["run 1", "run 2"]);
  assert.deepEqual(namesOf([TEXT, other, other]), ["k 100 kB", "k 30 kB", "k 30 kB (3)"]);
});

test("stored results are told apart by folder, seeds belong together", () => {
  const names = (...paths) => resultCells(Object.fromEntries(paths.map((path) => [path, ""]))).map(({ name, files }) => [name, ...Object.keys(files)]);
  assert.deepEqual(names("run.json", "flows.parquet", "inputs/a.csv"), [["", "run.json", "flows.parquet", "inputs/a.csv"]]);
  assert.deepEqual(names("report.html", "seed-1/run.json", "seed-2/run.json"), [["", "seed-1/run.json", "seed-2/run.json"]]);
  assert.deepEqual(names("a/seed-1/run.json", "b/seed-1/run.json", "b/seed-1/scenario.toml"), [["a", "seed-1/run.json"], ["b", "seed-1/run.json", "seed-1/scenario.toml"]]);
});
