// Elements of the page. Names from outside become text, never HTML.

type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

export const element = <Tag extends keyof HTMLElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[Tag] => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
};

export const button = (text: string, onclick: () => void, attributes: Attributes = {}) => element("button", { type: "button", onclick, ...attributes }, text);

/** An element of index.html. */
export const byId = <Kind extends HTMLElement = HTMLElement>(id: string): Kind => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no element "${id}"`);
  return found as Kind;
};

/** Calls at most once in so many milliseconds of rest. */
export const rested = (wait: number, work: () => void): (() => void) => {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(work, wait);
  };
};

/** A message above the page; none if empty. */
export const say = (text: string) => {
  const place = byId("message");
  place.textContent = text;
  place.hidden = !text;
  if (text) place.scrollIntoView({ block: "nearest" });
};

export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Digits in groups of three. */
export const grouped = (value: number) => String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, "\u202f");

const SIZES: [number, string][] = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
export const sized = (bytes: number) => {
  const [scale, unit] = SIZES.find(([scale]) => bytes >= scale) ?? [1, "B"];
  return `${Number((bytes / scale).toPrecision(3))} ${unit}`;
};
