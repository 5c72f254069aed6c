// The menu of scenarios: lessons, templates, examples, papers.
import { byId, element } from "./dom";
import type { Catalog, Scenario } from "./engine/types";
import { LESSONS, type Lesson } from "./lessons/lessons";

export interface Chosen {
  scenario: Scenario;
  lesson?: Lesson;
  /** Where it stands among the templates of `narrows new`. */
  isTemplate: boolean;
}

export class Menu {
  private entries = new Map<string, Chosen>();
  private readonly select = byId<HTMLSelectElement>("choose");

  constructor(chosen: (key: string, chosen: Chosen) => void) {
    this.select.addEventListener("change", () => {
      const found = this.entries.get(this.select.value);
      if (found) chosen(this.select.value, found);
    });
  }

  fill({ templates, examples, papers }: Catalog) {
    const one = (key: string, label: string, found: Chosen) => {
      this.entries.set(key, found);
      return element("option", { value: key }, label);
    };
    const about = ({ name, summary }: Scenario) => (summary ? `${name}: ${summary}` : name);
    const group = (label: string, kind: string, list: Scenario[]) =>
      element("optgroup", { label }, ...list.map((scenario) => one(`${kind}=${scenario.name}`, about(scenario), { scenario, isTemplate: kind === "template" })));
    const lessons = element("optgroup", { label: "Lessons" }, ...LESSONS.map((lesson) =>
      one(`lesson=${lesson.name}`, lesson.title, { scenario: { name: lesson.name, summary: lesson.title, text: lesson.scenario, sets: [], files: {} }, lesson, isTemplate: false })));
    this.select.replaceChildren(
      lessons, group("Templates", "template", templates), group("Examples", "example", examples),
      ...papers.map(({ name, title, scenarios }) => group(title, `paper=${name}`, scenarios)),
    );
  }

  find(key: string): Chosen | undefined {
    return this.entries.get(key);
  }

  /** Shows which one the text began with; nothing if it came from elsewhere. */
  show(key: string) {
    this.select.querySelector("option[data-other]")?.remove();
    if (!this.entries.has(key)) this.select.prepend(element("option", { value: key, "data-other": true }, key));
    this.select.value = key;
  }
}
