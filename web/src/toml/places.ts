// Finds where keys and values stand in a scenario. Reads unfinished text as far as it makes sense; the engine says what is wrong.

export interface Span {
  from: number;
  to: number;
}

export type Kind = "string" | "bare" | "table" | "array" | "nothing";

/** A key and its value. Elements of `[[traffic]]` have their number in the path. */
export interface Entry {
  path: string[];
  key: Span;
  value: Span;
  kind: Kind;
}

/** The end of a text: in which table it stands, and whether a key or the value of `path` is being written there. */
export interface Ending {
  at: "key" | "value" | "header" | "elsewhere";
  path: string[];
  /** Begin of the word that is being written. */
  from: number;
}

export interface Layout {
  entries: Entry[];
  /** Headers `[a.b]` and `[[a]]`: their path and where the lines below them end. */
  tables: { path: string[]; header: Span; end: number }[];
  /** Names of elements of lists, by their path. */
  names: Map<string, string>;
  ending: Ending;
}

const BARE_KEY = /[A-Za-z0-9_-]/;

class Reader {
  at = 0;
  entries: Entry[] = [];
  tables: Layout["tables"] = [];
  ending: Ending = { at: "elsewhere", path: [], from: 0 };
  private counts = new Map<string, number>();

  constructor(readonly text: string) {}

  read(): Layout {
    let table: string[] = [];
    for (;;) {
      this.blanks(true);
      if (this.done) {
        // Behind a value a new line has to come first.
        const lastLine = this.text.slice(this.text.lastIndexOf("\n") + 1);
        if (!lastLine.trim()) this.ending = { at: "key", path: table, from: this.at };
        break;
      }
      if (this.text[this.at] === "[") table = this.header();
      else this.pair(table);
      this.restOfLine();
      const last = this.tables.at(-1);
      if (last) last.end = this.at;
    }
    return { entries: this.entries, tables: this.tables, names: this.names(), ending: this.ending };
  }

  private names(): Map<string, string> {
    const named = this.entries.filter(({ path, kind }) => path.at(-1) === "name" && /^\d+$/.test(path.at(-2) ?? "") && kind === "string");
    return new Map(named.map(({ path, value }) => [path.slice(0, -1).join("\0"), this.text.slice(value.from + 1, value.to - 1)]));
  }

  private get done() {
    return this.at >= this.text.length;
  }

  /** Skips blanks; with `lines` also ends of lines and comments. */
  private blanks(lines: boolean) {
    for (; !this.done; this.at += 1) {
      const letter = this.text[this.at];
      if (letter === "#" && lines) this.skipTo("\n");
      if (this.done || !(letter === " " || letter === "\t" || letter === "\r" || (lines && (letter === "\n" || letter === "#")))) return;
    }
  }

  private skipTo(letter: string) {
    const found = this.text.indexOf(letter, this.at);
    // A comment is not a place to complete anything.
    if (found < 0) this.ending = { at: "elsewhere", path: [], from: this.text.length };
    this.at = found < 0 ? this.text.length : found;
  }

  private restOfLine() {
    const found = this.text.indexOf("\n", this.at);
    this.at = found < 0 ? this.text.length : found + 1;
  }

  private header(): string[] {
    const from = this.at;
    const list = this.text.startsWith("[[", this.at);
    this.at += list ? 2 : 1;
    const { path } = this.key([]);
    if (this.done) this.ending = { ...this.ending, at: "header" };
    const full = this.counted(path, list);
    const close = this.text.indexOf("\n", this.at);
    this.tables.push({ path: full, header: { from, to: close < 0 ? this.text.length : close }, end: this.at });
    return full;
  }

  /** The path with the number of the newest element behind each list. */
  private counted(path: string[], list: boolean): string[] {
    const full: string[] = [];
    path.forEach((part, index) => {
      full.push(part);
      const name = full.join("\0");
      const last = index === path.length - 1;
      if (last && list) this.counts.set(name, (this.counts.get(name) ?? -1) + 1);
      const count = this.counts.get(name);
      if (count !== undefined) full.push(String(count));
    });
    return full;
  }

  /** A dotted key below `table`. */
  private key(table: string[]): { path: string[]; span: Span } {
    const span = { from: this.at, to: this.at };
    const path = [...table];
    for (;;) {
      this.blanks(false);
      const begin = this.at;
      const quote = this.text[this.at];
      if (quote === '"' || quote === "'") {
        this.string();
        path.push(this.text.slice(begin + 1, this.at - 1));
      } else {
        while (!this.done && BARE_KEY.test(this.text[this.at]!)) this.at += 1;
        if (this.done) this.ending = { at: "key", path: [...path], from: begin };
        if (this.at > begin) path.push(this.text.slice(begin, this.at));
      }
      span.to = this.at;
      this.blanks(false);
      if (this.text[this.at] !== ".") return { path, span };
      this.at += 1;
    }
  }

  /** `key = value`; what is neither is skipped. */
  private pair(table: string[]) {
    const { path, span } = this.key(table);
    if (this.text[this.at] !== "=") return;
    this.at += 1;
    this.blanks(false);
    const from = this.at;
    if (this.done) this.ending = { at: "value", path, from };
    const entry: Entry = { path, key: span, value: { from, to: from }, kind: "nothing" };
    this.entries.push(entry);
    entry.kind = this.value(path);
    entry.value.to = this.at;
  }

  private value(path: string[]): Kind {
    const letter = this.text[this.at];
    if (letter === '"' || letter === "'") {
      const from = this.at;
      if (!this.string()) this.ending = { at: "value", path, from };
      return "string";
    }
    if (letter === "{") return this.inlineTable(path);
    if (letter === "[") return this.array(path);
    const from = this.at;
    while (!this.done && !/[\s,}\]#]/.test(this.text[this.at]!)) this.at += 1;
    if (this.done) this.ending = { at: "value", path, from };
    return this.at > from ? "bare" : "nothing";
  }

  /** Whether it is closed. */
  private string(): boolean {
    const quote = this.text[this.at]!;
    const long = this.text.startsWith(quote.repeat(3), this.at);
    const close = long ? quote.repeat(3) : quote;
    this.at += close.length;
    while (!this.done) {
      if (this.text.startsWith(close, this.at)) {
        this.at += close.length;
        return true;
      }
      if (!long && this.text[this.at] === "\n") return true;
      this.at += quote === '"' && this.text[this.at] === "\\" ? 2 : 1;
    }
    this.at = Math.min(this.at, this.text.length);
    return false;
  }

  private inlineTable(path: string[]): Kind {
    this.at += 1;
    for (;;) {
      this.blanks(true);
      if (this.done) {
        if (this.ending.at === "elsewhere" || this.ending.from !== this.at) this.ending = { at: "key", path, from: this.at };
        return "table";
      }
      const letter = this.text[this.at];
      if (letter === "}") {
        this.at += 1;
        return "table";
      }
      const before = this.at;
      if (letter === ",") this.at += 1;
      else this.pair(path);
      if (this.done && this.ending.at !== "elsewhere") return "table";
      if (this.at === before) return "table";
    }
  }

  private array(path: string[]): Kind {
    this.at += 1;
    for (let index = 0; ; ) {
      this.blanks(true);
      const letter = this.text[this.at];
      if (this.done) return "array";
      if (letter === "]") {
        this.at += 1;
        return "array";
      }
      const before = this.at;
      if (letter === ",") {
        this.at += 1;
        index += 1;
      } else this.value([...path, String(index)]);
      if (this.at === before) return "array";
    }
  }
}

export const layout = (text: string): Layout => new Reader(text).read();

/** What is being written at a place. */
export const endingAt = (text: string, at: number): Ending => layout(text.slice(0, at)).ending;

export const samePath = (one: string[], other: string[]) => one.length === other.length && one.every((part, index) => part === other[index]);

/** The path as `--set` takes it: elements of lists by their name, if they have one. */
export const namedPath = ({ names }: Layout, path: string[]): string => {
  const named = path.map((part, index) => (/^\d+$/.test(part) ? names.get(path.slice(0, index + 1).join("\0")) : undefined) ?? part);
  return named.map((part) => (/^[A-Za-z0-9_*-]+$/.test(part) ? part : JSON.stringify(part))).join(".");
};

/** The entry that a path names, elements of lists by number or name. */
export const entryOf = (found: Layout, named: string): Entry | undefined =>
  found.entries.find((entry) => entry.path.join(".") === named || namedPath(found, entry.path) === named);
