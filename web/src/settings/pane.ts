// Sliders and menus beside the text. They change the text, and nothing else.
import { button, byId, element } from "../dom";
import type { Editor } from "../editor/editor";
import type { Book } from "../schema";
import { entryOf, layout } from "../toml/places";
import { choices, type Choice } from "./choices";
import { STEPS, fromStep, inUnit, quantity, rangeAround, toStep, written, type Quantity, type Range } from "./quantity";

export interface Pin {
  /** As `--set` takes it. */
  path: string;
  /** Ends of the slider, as one would write them. */
  from?: string;
  to?: string;
}

const label = (path: string) => element("span", { class: "path" }, ...path.split(/(?<=\.)/).flatMap((part) => [part, element("wbr")]));

export class Settings {
  pins: Pin[] = [];
  private ranges = new Map<string, Range>();
  /** What was written for an option before another was chosen. */
  private replaced = new Map<string, string>();
  private shape = "";
  private readonly place = byId("settings");

  constructor(
    private readonly editor: Editor,
    private readonly book: () => Book | undefined,
    /** A slider was let go, or an option chosen. */
    private readonly moved: () => void,
  ) {}

  pin(path: string) {
    if (!this.pins.some((pin) => pin.path === path)) this.pins.push({ path });
    this.render();
    this.place.querySelector<HTMLInputElement>(`input[data-path="${CSS.escape(path)}"]`)?.focus();
  }

  setPins(pins: Pin[]) {
    this.pins = pins;
    this.ranges.clear();
    this.shape = "";
    this.render();
  }

  /** Shows what the text says. Elements stay as long as they are for the same settings. */
  render() {
    const book = this.book();
    const text = this.editor.text;
    const menus = book ? choices(book, text) : [];
    const pins = this.pins.filter(({ path }) => this.read(path));
    const shape = JSON.stringify([pins.map(({ path }) => path), menus.map(({ path, options }) => [path, options.length])]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.place.replaceChildren(...pins.map((pin) => this.slider(pin)), ...(menus.length ? [element("div", { class: "menus" }, ...menus.map((menu) => this.menu(menu)))] : []));
    }
    for (const { path } of pins) this.update(path);
    for (const { path, current } of menus) {
      const select = this.place.querySelector<HTMLSelectElement>(`select[data-path="${CSS.escape(path)}"]`);
      if (select) select.value = current;
    }
  }

  private read(path: string): { quantity: Quantity; from: number; to: number } | undefined {
    const text = this.editor.text;
    const entry = entryOf(layout(text), path);
    const found = entry && quantity(text.slice(entry.value.from, entry.value.to));
    return found && { quantity: found, ...entry.value };
  }

  private range({ path, from, to }: Pin, at: Quantity): Range {
    const known = this.ranges.get(path);
    if (known) return known;
    const text = this.editor.text;
    const entry = entryOf(layout(text), path);
    const whole = !at.unit && /^\d+$/.test(entry ? text.slice(entry.value.from, entry.value.to) : "");
    const [low, high] = [from, to].map((end) => (end === undefined ? undefined : inUnit(quantity(end.includes(" ") ? `"${end}"` : end) ?? at, at.unit)));
    const range = low !== undefined && high !== undefined ? { low, high, log: low > 0 && high / low > 8, whole } : rangeAround(at, whole);
    this.ranges.set(path, range);
    return range;
  }

  private slider(pin: Pin): HTMLElement {
    const { path } = pin;
    const input = element("input", {
      type: "range", min: 0, max: STEPS, "data-path": path, "aria-label": path,
      oninput: () => {
        const found = this.read(path);
        if (!found) return;
        const value = fromStep(this.range(pin, found.quantity), Number(input.value));
        this.editor.change(found.from, found.to, written({ ...found.quantity, value }));
      },
      onchange: () => this.moved(),
    });
    const remove = button("×", () => {
      this.pins = this.pins.filter((other) => other.path !== path);
      this.render();
    }, { "aria-label": `Remove the slider of ${path}` });
    return element("div", { class: "slider" }, label(path), input, element("output", { "data-value": path }), remove);
  }

  private update(path: string) {
    const pin = this.pins.find((pin) => pin.path === path)!;
    const found = this.read(path)!;
    const input = this.place.querySelector<HTMLInputElement>(`input[data-path="${CSS.escape(path)}"]`)!;
    const shown = written({ ...found.quantity, quoted: false });
    this.place.querySelector(`output[data-value="${CSS.escape(path)}"]`)!.textContent = shown;
    const step = String(toStep(this.range(pin, found.quantity), found.quantity.value));
    if (document.activeElement !== input) input.value = step;
    input.setAttribute("aria-valuetext", shown);
  }

  private menu({ path, current, options }: Choice): HTMLElement {
    const known = options.some(({ name }) => name === current);
    const select = element("select", { "data-path": path, onchange: () => this.choose(path, select.value) },
      ...(known ? [] : [element("option", { value: current }, current || "as written")]),
      ...options.map(({ name, about }) => element("option", { value: name, title: about }, name)));
    select.value = current;
    return element("label", {}, label(path), select);
  }

  private choose(path: string, name: string) {
    const choice = choices(this.book()!, this.editor.text).find((choice) => choice.path === path);
    const option = choice?.options.find((option) => option.name === name);
    if (!choice || !option) return;
    this.replaced.set(`${path}=${choice.current}`, this.editor.text.slice(choice.from, choice.to));
    const text = this.replaced.get(`${path}=${name}`) || option.text;
    this.editor.change(choice.from, choice.to, choice.before + text);
    this.moved();
  }
}
