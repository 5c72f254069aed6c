// Names of what is compared: the settings in which scenarios differ.
import { layout, namedPath } from "../toml/places";

const MOST_SETTINGS = 3;
const MOST_LENGTH = 48;

/** What a scenario says: values by path. Of a table with one key, such as `{ dctcp = {} }`, the key counts as its value as well. */
const settings = (text: string): Map<string, string> => {
  const found = layout(text);
  return new Map(found.entries.flatMap(({ path, value, kind }): [string, string][] => {
    const written = text.slice(value.from, value.to);
    const chosen = /^\{\s*(\w+)\s*=\s*\{/.exec(written)?.[1];
    if (kind === "table" && !chosen) return [];
    return [[namedPath(found, path), chosen ?? written.replaceAll(/^"|"$/g, "")]];
  }));
};

/** Paths that differ, without those below another one: what stands below `cc` follows from `cc`. */
const differing = (all: Map<string, string>[]): string[] => {
  const paths = [...new Set(all.flatMap((each) => [...each.keys()]))];
  const differs = paths.filter((path) => all.some((each) => each.get(path) !== all[0]!.get(path)));
  return differs.filter((path) => !differs.some((other) => path.startsWith(`${other}.`)));
};

/** A name for each of several scenarios, no two the same. */
export const namesOf = (texts: string[]): string[] => {
  const all = texts.map(settings);
  const paths = differing(all);
  const known = paths.length > 0 && paths.length <= MOST_SETTINGS;
  const name = (each: Map<string, string>, index: number): string => {
    const parts = paths.filter((path) => each.has(path)).map((path) => `${path.split(".").at(-1)} ${each.get(path)}`);
    return known && parts.length ? [...new Set(parts)].join(", ").slice(0, MOST_LENGTH) : `run ${index + 1}`;
  };
  const names: string[] = [];
  all.forEach((each, index) => {
    const wanted = name(each, index);
    names.push(names.includes(wanted) ? `${wanted} (${index + 1})` : wanted);
  });
  return names;
};
