// Changes of single settings in the text of a scenario.
import { entryOf, layout, namedPath } from "./places";

/** The text with settings as `--set` takes them: PATH=VALUE. Without a value the setting is removed. */
export const applied = (text: string, sets: string[]): string => sets.reduce(one, text);

const one = (text: string, set: string): string => {
  const at = set.indexOf("=");
  if (at < 0) throw new Error(`a setting is PATH=VALUE: ${set.slice(0, 80)}`);
  const [path, value] = [set.slice(0, at).trim(), set.slice(at + 1).trim()];
  const place = entryOf(layout(text), path);
  if (place) return value ? text.slice(0, place.value.from) + value + text.slice(place.value.to) : without(text, place.key.from, place.value.to);
  return value ? added(text, path, value) : text;
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

/** Adds a key below the line of its table; on top, where keys of the scenario stand, if there is none. */
const added = (text: string, path: string, value: string): string => {
  const found = layout(text);
  const [above, key] = [path.slice(0, path.lastIndexOf(".")), path.slice(path.lastIndexOf(".") + 1)];
  const table = found.tables.find((table) => above && (namedPath(found, table.path) === above || table.path.join(".") === above));
  if (!table) return `${path} = ${value}\n${text}`;
  return `${text.slice(0, table.header.to)}\n${key} = ${value}${text.slice(table.header.to)}`;
};
