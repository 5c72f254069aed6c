// The same run for a terminal and for Python.
import { layout, namedPath } from "../toml/places";

/** A word of a shell that stands for itself. */
const shell = (text: string) => (/^[A-Za-z0-9_./:=,+@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export const valueAt = (text: string, path: string): string | undefined => {
  const found = layout(text);
  const entry = found.entries.find((entry) => namedPath(found, entry.path) === path);
  return entry && text.slice(entry.value.from, entry.value.to);
};

/** Settings in which two texts differ, if nothing else differs: path and value of the second. */
export const changes = (base: string, text: string): [string, string][] | undefined => {
  const found = layout(text), before = layout(base);
  if (found.entries.length === 0) return undefined;
  const changed: [string, string][] = [];
  let patched = base, moved = 0;
  // Of tables in a line only the settings inside are compared, where both have the same.
  const paths = (of: typeof found) => of.entries.map((entry) => namedPath(of, entry.path));
  if (paths(found).join("\n") !== paths(before).join("\n")) return undefined;
  found.entries.forEach((entry, index) => {
    const old = before.entries[index]!;
    if (entry.kind === "table" && old.kind === "table") return;
    const [value, was] = [text.slice(entry.value.from, entry.value.to), base.slice(old.value.from, old.value.to)];
    if (value === was) return;
    changed.push([namedPath(found, entry.path), value]);
    patched = patched.slice(0, old.value.from + moved) + value + patched.slice(old.value.to + moved);
    moved += value.length - was.length;
  });
  return patched === text ? changed : undefined;
};

export interface Named {
  text: string;
  seeds: number;
  /** The template that it began with. */
  template?: { name: string; text: string };
}

const nameIn = (text: string) => (valueAt(text, "name") ?? '"scenario"').slice(1, -1).replaceAll(/[^\w.-]+/g, "-") || "scenario";

/** A line that stands nowhere in the text. */
const endOf = (text: string) => {
  let end = "END";
  while (text.split("\n").includes(end)) end += "_";
  return end;
};

export const shellCommand = ({ text, seeds, template }: Named): string => {
  const changed = template && changes(template.text, text);
  const name = nameIn(text);
  const seedsOf = seeds > 1 ? ` --seeds ${seeds}` : "";
  if (template && changed) {
    const sets = changed.map(([path, value]) => ` --set ${shell(`${path}=${value}`)}`).join("");
    return `narrows new ${name} --template ${shell(template.name)}\nnarrows run ${name}.toml${sets}${seedsOf}\n`;
  }
  const end = endOf(text);
  return `cat > ${name}.toml <<'${end}'\n${text.trimEnd()}\n${end}\nnarrows run ${name}.toml${seedsOf}\n`;
};

export const pythonCommand = ({ text, seeds, template }: Named): string => {
  const changed = template && changes(template.text, text);
  const first = firstSeed(text);
  const run = seeds > 1 ? `results = [narrows.run(scenario, seed=seed) for seed in range(${first}, ${first + seeds})]` : "results = narrows.run(scenario)";
  const quoted = `"""\n${text.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"')}"""`;
  const scenario = template && changed ? `narrows.Scenario.template(${JSON.stringify(template.name)})` : `narrows.Scenario.parse(${quoted})`;
  const sets = (changed ?? []).map(([path, value]) => `scenario.set([${JSON.stringify(`${path}=${value}`)}])\n`).join("");
  return `import narrows\n\nscenario = ${scenario}\n${sets}${run}\nprint(results)\n`;
};

/** The seed that a scenario begins with. */
export const firstSeed = (text: string): number => {
  const written = Number((valueAt(text, "seed") ?? "1").replaceAll("_", ""));
  return Number.isSafeInteger(written) && written >= 0 ? written : 1;
};
