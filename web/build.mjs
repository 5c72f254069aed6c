// Builds the page: node build.mjs --engine MODULE.wasm --out FOLDER
import { build } from "esbuild";
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** A lesson: `key: value` lines between two lines of dashes, then text; its scenario stands beside it. */
const lesson = async (folder, file) => {
  const name = file.replace(/\.md$/, "");
  const found = /^---\n(.*?)\n---\n(.*)$/s.exec(await readFile(join(folder, file), "utf8"));
  if (!found) throw new Error(`${file}: no head between two lines of dashes`);
  const head = found[1].split("\n").map((line) => /^(\w+): (.*)$/.exec(line)?.slice(1) ?? [line, ""]);
  const unknown = head.find(([key]) => !["order", "title", "minutes", "seeds", "pin"].includes(key));
  if (unknown) throw new Error(`${file}: unknown key "${unknown[0]}"; known: order, title, minutes, seeds, pin`);
  const { order = "9", title, minutes = "3", seeds = "1" } = Object.fromEntries(head);
  const pins = head.filter(([key]) => key === "pin").map(([, value]) => {
    const [path, from, to] = value.split(/\s*,\s*/);
    return { path, from, to };
  });
  const scenario = await readFile(join(folder, `${name}.toml`), "utf8");
  return { order, name, title, minutes: Number(minutes), seeds: Number(seeds), pins, text: found[2], scenario };
};

export const lessons = async (folder = here("lessons")) => {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".md")).sort();
  const all = await Promise.all(files.map((file) => lesson(folder, file)));
  return all.sort((a, b) => a.order.localeCompare(b.order)).map(({ order: _, ...rest }) => rest);
};

/** `narrows:lessons` is the list of all lessons. */
export const withLessons = {
  name: "lessons",
  setup(setup) {
    setup.onResolve({ filter: /^narrows:lessons$/ }, ({ path }) => ({ path, namespace: "lessons" }));
    setup.onLoad({ filter: /.*/, namespace: "lessons" }, async () => ({ contents: JSON.stringify(await lessons()), loader: "json" }));
  },
};

const page = async (engine, out) => {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await build({
    entryPoints: { main: here("src/main.ts"), worker: here("src/engine/worker.ts") },
    bundle: true, format: "esm", target: "es2022", minify: true, outdir: out, plugins: [withLessons], legalComments: "linked", logLevel: "warning",
  });
  await build({ entryPoints: { main: here("src/main.css") }, bundle: true, minify: true, outdir: out, logLevel: "warning" });
  await copyFile(here("src/index.html"), join(out, "index.html"));
  await copyFile(engine, join(out, "engine.wasm"));
  const { Engine } = await import("./engine.js");
  const assets = (await Engine.load(await readFile(engine))).assets();
  for (const [name, text] of Object.entries(assets)) await writeFile(join(out, name), text);
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values: { engine, out } } = parseArgs({ options: { engine: { type: "string" }, out: { type: "string" } } });
  if (!engine || !out) throw new Error("node build.mjs --engine MODULE.wasm --out FOLDER");
  await page(engine, out);
}
