// The simulator as a class: one engine is one instance of the module of crates/narrows-web. It works in a page, in a worker and under
// node; API.md describes its methods.

/** The input is at fault; `diagnostics` say where. */
export class Rejected extends Error {
  constructor(diagnostics) {
    super(diagnostics.map(({ message }) => message).join("\n"));
    this.name = "Rejected";
    this.diagnostics = diagnostics;
  }
}

/** The engine is at fault, and gone. */
export class Trapped extends Error {
  constructor(message) {
    super(message);
    this.name = "Trapped";
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Packet-hops of the first slice, of which nothing is known. */
const FIRST_SLICE = 50_000;

export class Engine {
  #exports;
  #handles = new Map();
  /** Message of what has ended the engine. */
  #lastWords = null;

  /** What the module says of itself, read when it is wanted. */
  #module;
  #known = null;

  constructor(module, instance) {
    this.#module = module;
    this.#exports = instance.exports;
  }

  /** From bytes, a compiled module, or a response. */
  static async load(source) {
    const given = await source;
    const isResponse = typeof Response !== "undefined" && given instanceof Response;
    const bytes = isResponse ? await given.arrayBuffer() : given;
    const module = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(bytes);
    const engine = new Engine(module, await WebAssembly.instantiate(module));
    // Errors show what the schema accepts, and the engine cannot read the section that has it.
    if (engine.#hasLibrary) engine.#value("follow", engine.schema());
    return engine;
  }

  get broken() {
    return this.#lastWords !== null;
  }

  /** Bytes of memory that the engine has taken; it never gives any back. */
  get memory() {
    return this.#exports.memory.buffer.byteLength;
  }

  // ---- Names, help ----

  // They stand in a section of the module beside its code.

  get #hasLibrary() { return WebAssembly.Module.customSections(this.#module, "narrows-library").length > 0; }

  get #library() {
    const [section] = WebAssembly.Module.customSections(this.#module, "narrows-library");
    if (!section && !this.#known) throw new TypeError("the module has no library; cargo xtask playground adds it");
    return (this.#known ??= unfolded(...JSON.parse(decoder.decode(section))));
  }

  catalog() { return this.#library.catalog; }
  schema() { return this.#library.schema; }

  explain(name) {
    const { names, topics } = this.#library;
    const whole = name.trim().toLowerCase();
    const metric = whole.slice(whole.indexOf(".") + 1);
    const meant = [whole, metric, metric.replace(/^(dc|wan)_/, ""), whole.slice(whole.lastIndexOf(".") + 1)];
    const found = meant.find((word) => Object.hasOwn(names, word));
    if (found !== undefined) return names[found].map((number) => topics[number]);
    const [{ summary }] = topics.filter((topic) => topic.name === "N0005");
    throw new Rejected([{
      severity: "error", code: "N0005", title: summary, message: `nothing has the name "${name}"`, label: null, help: null,
      file: null, from: null, to: null,
    }]);
  }

  assets() { return this.#value("assets"); }

  // ---- Scenarios ----

  check(text, files = {}, sets = []) { return this.#value("check", { text, sets }, files); }
  import(kind, files, options = {}) { return this.#value("import", { kind, options }, files); }

  // ---- Runs ----

  start(text, { sets = [], seed = null, files = {}, live = true, force = false } = {}) {
    const started = this.#value("start", { text, sets, seed, live, force }, files);
    this.#handles.set(started.handle, { elapsed: 0, hops: FIRST_SLICE, reached: 0 });
    return started;
  }

  advance(handle, hops, elapsed_ms) { return this.#value("advance", { handle, hops, elapsed_ms }); }

  /** Goes on for about so many milliseconds. */
  slice(handle, ms) {
    const run = this.#handles.get(handle);
    const began = performance.now();
    const state = this.advance(handle, run?.hops ?? FIRST_SLICE, run?.elapsed ?? 0);
    if (!run) return state;
    const took = performance.now() - began;
    run.elapsed += took;
    // No slice is much longer than the one before: runs become slower and faster.
    const speed = (state.packet_hops - run.reached) / Math.max(took, 0.1);
    run.hops = Math.min(Math.max(speed * ms, 1000), run.hops * 4);
    run.reached = state.packet_hops;
    return state;
  }

  cancel(handle) { return this.#value("cancel", { handle }); }

  drop(handle) {
    this.#handles.delete(handle);
    return this.#value("drop", { handle });
  }

  finish(handle) {
    this.#handles.delete(handle);
    return this.#value("finish", { handle });
  }

  // ---- Results ----

  openResult(files) { return this.#value("openResult", {}, files); }
  files(id) { return this.#value("files", { id }); }
  file(id, name) { return this.#ask("file", { id, name }).files[0]; }

  export(id) {
    const { value: names, files } = this.#ask("export", { id });
    return Object.fromEntries(names.map((name, index) => [name, files[index]]));
  }

  forget(id) { return this.#value("forget", { id }); }
  report(title, cells) { return this.#value("report", { title, cells }); }
  reportPage(title, cells) { return decoder.decode(this.#ask("reportPage", { title, cells }).files[0]); }
  compare(title, cells) { return this.#value("compare", { title, cells }); }

  // ---- Messages: a number of parts, the length of each, the parts; see frame.rs ----

  #value(call, args, files) { return this.#ask(call, args, files).value; }

  #ask(call, args = {}, files = null) {
    const given = files === null ? [] : Object.entries(files);
    const named = files === null ? {} : { files: Object.fromEntries(given.map(([name], index) => [name, index + 1])) };
    const head = encoder.encode(JSON.stringify({ call, arguments: { ...args, ...named } }));
    const bytesOf = (content) => (typeof content === "string" ? encoder.encode(content) : content);
    const [answer, ...parts] = this.#exchange([head, ...given.map(([, content]) => bytesOf(content))]);
    const { value, rejected, misused } = JSON.parse(decoder.decode(answer));
    if (rejected) throw new Rejected(rejected);
    if (misused !== undefined) throw new TypeError(`${call}: ${misused}`);
    return { value, files: parts };
  }

  #exchange(parts) {
    if (this.broken) throw new Trapped(this.#lastWords);
    const { memory, narrows_message, narrows_answer, narrows_answer_at, narrows_read } = this.#exports;
    try {
      const size = parts.reduce((sum, part) => sum + 4 + part.length, 4);
      let at = narrows_message(size);
      const view = new DataView(memory.buffer, at, size);
      [parts.length, ...parts.map((part) => part.length)].forEach((number, index) => view.setUint32(4 * index, number, true));
      at += 4 * (parts.length + 1);
      const into = new Uint8Array(memory.buffer);
      for (const part of parts) {
        into.set(part, at);
        at += part.length;
      }
      const length = narrows_answer();
      // Copied, as memory moves when it grows.
      const answer = new Uint8Array(memory.buffer, narrows_answer_at(), length).slice();
      narrows_read();
      return unpacked(answer);
    } catch (error) {
      this.#lastWords = this.#wordsOf(error);
      throw new Trapped(this.#lastWords);
    }
  }

  /** What the engine said before it ended. */
  #wordsOf(error) {
    const length = this.#exports.narrows_last_words();
    if (!length) return `the engine ended, perhaps for want of memory (${this.memory >> 20} MiB taken): ${error.message}`;
    return decoder.decode(new Uint8Array(this.#exports.memory.buffer, this.#exports.narrows_last_words_at(), length).slice());
  }
}

/** Puts texts that stand in a value several times where they stand; see library.rs. */
const unfolded = (texts, value) => {
  if (typeof value === "string") return value.startsWith("@") ? texts[value.slice(1)] : value;
  if (Array.isArray(value)) return value.map((each) => unfolded(texts, each));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, unfolded(texts, each)]));
};

const unpacked = (message) => {
  const view = new DataView(message.buffer);
  const count = view.getUint32(0, true);
  let at = 4 * (count + 1);
  return Array.from({ length: count }, (_, index) => {
    const length = view.getUint32(4 * (index + 1), true);
    at += length;
    return message.slice(at - length, at);
  });
};
