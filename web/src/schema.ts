// The JSON schema of scenarios: what may stand at a path, and what is said of it.

export interface Schema {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  examples?: unknown[];
  accepts?: string;
  $ref?: string;
  $defs?: Record<string, Schema>;
}

/** Something that may be written for a value, and what it means. */
export interface Option {
  /** As TOML. */
  text: string;
  about: string;
}

export class Book {
  constructor(private readonly root: Schema) {}

  /** All forms that a value may have: references followed, alternatives side by side. */
  forms(schema: Schema): Schema[] {
    if (schema.$ref) return this.forms(this.root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {});
    const several = schema.oneOf ?? schema.anyOf;
    return several ? several.flatMap((each) => this.forms(each).map((form) => ({ ...form, description: each.description ?? form.description }))) : [schema];
  }

  private below(schema: Schema, part: string): Schema[] {
    return this.forms(schema).flatMap((form) => {
      if (form.items && /^\d+$/.test(part)) return [form.items];
      const own = form.properties?.[part];
      if (own) return [own];
      return typeof form.additionalProperties === "object" ? [form.additionalProperties] : [];
    });
  }

  /** What may stand at a path. */
  at(path: string[]): Schema[] {
    return path.reduce<Schema[]>((found, part) => found.flatMap((schema) => this.below(schema, part)), [this.root]);
  }

  /** Keys of the table at a path. */
  keys(path: string[]): { name: string; schema: Schema }[] {
    const found = new Map<string, Schema>();
    for (const form of this.at(path).flatMap((schema) => this.forms(schema))) {
      for (const [name, schema] of Object.entries(form.properties ?? {})) {
        if (!found.has(name)) found.set(name, form.description && Object.keys(form.properties ?? {}).length === 1 ? { ...schema, description: form.description } : schema);
      }
    }
    return [...found].map(([name, schema]) => ({ name, schema }));
  }

  /** What is known to fit at a path: names, tables with one key, defaults, examples. */
  options(path: string[]): Option[] {
    const found = new Map<string, string>();
    const add = (text: string, about: string) => found.has(text) || found.set(text, about);
    for (const schema of this.at(path)) {
      for (const form of this.forms(schema)) {
        const about = form.description ?? schema.description ?? "";
        if (form.const !== undefined) add(toml(form.const), about);
        form.enum?.forEach((each) => add(toml(each), about));
        if (isType(form, "boolean")) ["true", "false"].forEach((each) => add(each, schema.description ?? ""));
        const keys = Object.keys(form.properties ?? {});
        if (keys.length === 1 && form.required?.length === 1) add(this.shape(form), about);
        form.examples?.forEach((each) => add(toml(each), "an example"));
      }
      if (schema.default !== undefined && schema.default !== null && typeof schema.default !== "object") add(toml(schema.default), "the default");
    }
    return [...found].map(([text, about]) => ({ text, about }));
  }

  /** A value with everything that has to be there: defaults, else examples. */
  shape(schema: Schema): string {
    if (schema.default !== undefined && schema.default !== null) return toml(schema.default);
    const form = this.forms(schema)[0] ?? {};
    if (form.const !== undefined) return toml(form.const);
    if (form.examples?.length) return toml(form.examples[0]);
    if (form.properties) {
      const inside = (form.required ?? []).map((key) => `${key} = ${this.shape(form.properties![key]!)}`);
      return inside.length ? `{ ${inside.join(", ")} }` : "{}";
    }
    if (isType(form, "boolean")) return "true";
    if (isType(form, "string")) return '""';
    return isType(form, "array") ? "[]" : "1";
  }

  about(path: string[]): { text: string; default?: string; accepts?: string } | undefined {
    const found = this.at(path)[0];
    if (!found) return undefined;
    const form = this.forms(found)[0] ?? {};
    const text = found.description ?? form.description ?? "";
    const plain = found.default !== undefined && found.default !== null && typeof found.default !== "object";
    return { text: text.replaceAll("\n", " "), default: plain ? toml(found.default) : undefined, accepts: found.accepts ?? form.accepts };
  }
}

const isType = ({ type }: Schema, wanted: string) => type === wanted || (Array.isArray(type) && type.includes(wanted));

/** A value as TOML writes it. */
export const toml = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const inside = Object.entries(value).filter(([, each]) => each !== null).map(([key, each]) => `${key} = ${toml(each)}`);
    return inside.length ? `{ ${inside.join(", ")} }` : "{}";
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
};
