// Changes of single settings in the text of a scenario.
import { entryOf, layout, namedPath } from "./places";

/** The text with settings as `--set` takes them: PATH=VALUE. Without a value the setting is removed. */
export const applied = (text: string, sets: string[]): string => sets.reduce(one, text);

const one = (text: string, set: string): string => {
  const at = set.indexOf("=");
  if (at < 0) throw new Error(`a setting is PATH=VALUE: ${set.slice(0, 80)}`);
  const [path, value] = [set.slice(0, at).trim(), written(set.slice(at + 1).trim())];
  const place = entryOf(layout(text), path);
  if (place) return value ? text.slice(0, place.value.from) + value + text.slice(place.value.to) : without(text, place.key.from, place.value.to);
  return value ? added(cleared(text, path), path, value) : cleared(text, path);
};

/** A value as TOML has it; a string may have lost its quotation marks to a shell. */
const written = (value: string): string =>
  (/^(["'[{].*|true|false|[+-]?([\d_]+(\.[\d_]+)?([eE][+-]?\d+)?|inf|nan))?$/s.test(value) ? value : JSON.stringify(value));

/** Removes what is written of a table in several places: below headers, and behind keys with dots. */
const cleared = (text: string, path: string): string => {
  const found = layout(text);
  const within = (own: string[]) => `${namedPath(found, own)}.`.startsWith(`${path}.`);
  const table = found.tables.find((table) => within(table.path));
  if (table) return cleared(text.slice(0, table.header.from) + text.slice(table.end), path);
  const entry = found.entries.find((entry) => within(entry.path));
  return entry ? cleared(without(text, entry.key.from, entry.value.to), path) : text;
};

/** Removes an entry, with its line if nothing else stands there, else with its comma. */
const without = (text: string, from: number, to: number): string => {
  const begin = text.lastIndexOf("\n", from - 1) + 1;
  const end = text.indexOf("\n", to);
  const rest = text.slice(to, end < 0 ? undefined : end);
  if (!text.slice(begin, from).trim() && (!rest.trim() || rest.trim().startsWith("#"))) return text.slice(0, begin) + (end < 0 ? "" : text.slice(end + 1));
  const behind = /^\s*,\s*/.exec(text.slice(to));
  if (behind) return text.slice(0, from) + text.slice(to + behind[0].length);
  return text.slice(0, from).replace(/,\s*$/, " ") + text.slice(to);
};

/** Adds a key to the innermost table that is there: in its braces, or below its line; on top, where keys of the scenario stand, if there is none. */
const added = (text: string, path: string, value: string): string => {
  const found = layout(text);
  const parts = path.split(".");
  for (let depth = parts.length - 1; depth > 0; depth -= 1) {
    const [above, pair] = [parts.slice(0, depth).join("."), `${parts.slice(depth).join(".")} = ${value}`];
    const inline = entryOf(found, above);
    if (inline) {
      const inside = text.slice(inline.value.from + 1, inline.value.to - 1);
      // What is off is as if it was left out.
      const rest = inline.kind !== "table" || !inside.trim() ? " " : `,${inside}`;
      return `${text.slice(0, inline.value.from)}{ ${pair}${rest}}${text.slice(inline.value.to)}`;
    }
    const table = found.tables.find((table) => namedPath(found, table.path) === above || table.path.join(".") === above);
    if (table) return `${text.slice(0, table.header.to)}\n${pair}${text.slice(table.header.to)}`;
  }
  return `${path} = ${value}\n${text}`;
};
