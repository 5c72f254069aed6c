// Guided lessons: text with a scenario, sliders and a question. They are the files in web/lessons.
import { element } from "../dom";
import type { Pin } from "../settings/pane";
import found from "narrows:lessons";

export interface Lesson {
  name: string;
  title: string;
  minutes: number;
  seeds: number;
  pins: Pin[];
  /** Markdown: paragraphs, lists, headings, `code`, **bold**, *slanted*, links. */
  text: string;
  scenario: string;
}

export const LESSONS: Lesson[] = found;

/** Parts of a line. [text](set:PATH=VALUE;;PATH=VALUE) is a button that changes settings and runs; other targets are links. */
const PART = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\(((?:[^()]|\([^()]*\))+)\)/g;

const inline = (text: string, set: (change: string) => void): (Node | string)[] => {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (const match of text.matchAll(PART)) {
    const [whole, code, bold, slanted, label, target] = match;
    parts.push(text.slice(at, match.index));
    if (code) parts.push(element("code", {}, code));
    else if (bold) parts.push(element("b", {}, bold));
    else if (slanted) parts.push(element("i", {}, slanted));
    else if (target!.startsWith("set:")) parts.push(element("button", { type: "button", class: "try", onclick: () => set(target!.slice(4)) }, label!));
    else parts.push(element("a", { href: target! }, label!));
    at = match.index + whole.length;
  }
  return [...parts, text.slice(at)];
};

/** The lesson as elements. What follows the heading "Answer" is shown on request. */
export const rendered = ({ title, minutes, text }: Lesson, set: (change: string) => void): HTMLElement[] => {
  const parts: HTMLElement[] = [element("h2", {}, title), element("p", { class: "soft" }, `${minutes} minutes`)];
  let into = parts;
  for (const block of text.trim().split(/\n\s*\n/)) {
    const heading = /^## (.*)$/.exec(block)?.[1];
    if (heading === "Answer") {
      const inside = element("div");
      parts.push(element("details", {}, element("summary", {}, "Answer"), inside));
      into = { push: (child: HTMLElement) => inside.append(child) } as unknown as HTMLElement[];
    } else if (heading) into.push(element("h3", {}, heading));
    else if (block.startsWith("- ")) {
      into.push(element("ul", {}, ...block.split(/\n(?=- )/).map((item) => element("li", {}, ...inline(item.slice(2).replaceAll(/\s*\n\s*/g, " "), set)))));
    } else into.push(element("p", {}, ...inline(block.replaceAll("\n", " "), set)));
  }
  return parts;
};
