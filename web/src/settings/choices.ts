// Settings of a scenario that are one of several: congestion controls, marking, buffers, routing.
import type { Book } from "../schema";
import { layout, namedPath, samePath, type Entry, type Layout } from "../toml/places";

/** Keys whose values are chosen from a menu. */
const KEYS = new Set(["cc", "end_to_end", "marking", "sharing", "congestion_point", "scheme", "routing", "sizes"]);

/** Settings of switches that can be chosen even where nothing is written. */
const SWITCH_KEYS = ["marking"];

/** Values that fit most fabrics, where the schema has none of its own. */
const USUAL: Record<string, string> = {
  step: '{ step = { k = "100 kB" } }',
  red: '{ red = { min = "50 kB", max = "200 kB", max_p = 0.1 } }',
  sojourn: '{ sojourn = { above = "80 us" } }',
  dynamic: "{ dynamic = { alpha = 1.0 } }",
};

/** Controls that are attached by programs. */
const NOT_HERE = new Set(["custom"]);

/** Menus of one scenario. */
const MOST = 40;

export interface Choice {
  /** As `--set` takes it. */
  path: string;
  /** Name of the option that is written; empty if it is none of them. */
  current: string;
  options: { name: string; text: string; about: string }[];
  /** The text that is replaced, and what stands before a new one. */
  from: number;
  to: number;
  before: string;
}

/** The name that an option goes by: its one key, or itself. */
const nameOf = (text: string) => /^\{\s*(\w+)\s*=/.exec(text)?.[1] ?? /^"(.*)"$/.exec(text)?.[1] ?? "";

const optionsAt = (book: Book, path: string[]): Choice["options"] => {
  const all = book.options(path).map(({ text, about }) => ({ name: nameOf(text), text: USUAL[nameOf(text)] ?? text, about }));
  // Where a name has to be filled in, a menu cannot choose.
  return all.filter(({ name, text, about }, index) => name && !text.includes('""') && about !== "an example" && !NOT_HERE.has(name) && all.findIndex((other) => other.name === name) === index);
};

const ofEntry = (book: Book, found: Layout, text: string, entry: Entry): Choice => ({
  path: namedPath(found, entry.path),
  current: nameOf(text.slice(entry.value.from, entry.value.to)),
  options: optionsAt(book, entry.path),
  from: entry.value.from, to: entry.value.to, before: "",
});

/** Switches by class whose table has a line of its own and no such key. */
const absent = (book: Book, found: Layout, text: string): Choice[] =>
  found.tables.filter(({ path }) => path.length === 2 && path[0] === "switches").slice(0, MOST).flatMap(({ path, end }) =>
    SWITCH_KEYS.filter((key) => !found.entries.some((entry) => samePath(entry.path.slice(0, 3), [...path, key])) && !found.tables.some((table) => samePath(table.path.slice(0, 3), [...path, key])))
      .map((key) => {
        const last = text.slice(0, end).trimEnd().length;
        return { path: namedPath(found, [...path, key]), current: "off", options: optionsAt(book, [...path, key]), from: last, to: last, before: `\n${key} = ` };
      }));

export const choices = (book: Book, text: string): Choice[] => {
  const found = layout(text);
  const written = found.entries.filter(({ path }) => KEYS.has(path.at(-1)!)).slice(0, MOST).map((entry) => ofEntry(book, found, text, entry));
  return [...written, ...absent(book, found, text)].filter(({ options }) => options.length > 1);
};
