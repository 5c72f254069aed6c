// Names of what is compared: the settings in which scenarios differ.
import { changes, valueAt } from "../share/command";

const MOST_SETTINGS = 2;
const MOST_LENGTH = 40;

/** A name for each of several scenarios, no two the same. */
export const namesOf = (texts: string[]): string[] => {
  const found = texts.slice(1).map((text) => changes(texts[0]!, text));
  const paths = [...new Set(found.flatMap((each) => (each ?? []).map(([path]) => path)))];
  const known = found.every((each) => each !== undefined) && paths.length > 0 && paths.length <= MOST_SETTINGS;
  const name = (index: number): string => {
    if (!known) return `run ${index + 1}`;
    const own = new Map(index ? found[index - 1] : []);
    return paths.map((path) => brief(path, own.get(path) ?? valueAt(texts[0]!, path) ?? "")).join(" ").slice(0, MOST_LENGTH);
  };
  const names: string[] = [];
  texts.forEach((_, index) => {
    const wanted = name(index);
    names.push(names.includes(wanted) ? `${wanted} (${index + 1})` : wanted);
  });
  return names;
};

const brief = (path: string, value: string) => {
  const plain = value.replaceAll(/^"|"$/g, "").replace(/^\{\s*(\w+)\s*=\s*\{\s*\}\s*\}$/, "$1");
  return `${path.split(".").at(-1)} ${plain}`;
};
