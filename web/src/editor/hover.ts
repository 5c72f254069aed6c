// Says what a key or a name means when the pointer rests on it.
import { hoverTooltip } from "@codemirror/view";
import { element } from "../dom";
import type { Topic } from "../engine/types";
import { layout, type Entry } from "../toml/places";
import type { Helper } from "./help";

/** The innermost entry at a place. */
export const entryAt = (entries: Entry[], at: number): Entry | undefined => entries.findLast(({ key, value }) => key.from <= at && at <= value.to);

const wordAt = (text: string, at: number): string => {
  const before = /[\w-]*$/.exec(text.slice(0, at))?.[0] ?? "";
  const after = /^[\w-]*/.exec(text.slice(at))?.[0] ?? "";
  return before + after;
};

const topicText = ({ name, summary, source }: Topic) => element("p", {}, element("b", {}, name), `: ${summary}`, ...(source && source !== "none" ? [element("span", { class: "soft" }, ` (${source})`)] : []));

export const explanation = (help: Helper) =>
  hoverTooltip(async (view, pos) => {
    const text = view.state.doc.toString();
    const { entries } = layout(text);
    const entry = entryAt(entries, pos);
    if (!entry) return null;
    const onKey = pos <= entry.key.to;
    const place = onKey ? entry.key : entry.value;
    const about = help.book()?.about(entry.path);
    const parts: Node[] = [];
    if (about?.text) {
      const more = [about.default && `Default: ${about.default}.`, about.accepts && `Accepted: ${about.accepts}.`].filter(Boolean).join(" ");
      parts.push(element("p", {}, element("b", {}, entry.path.filter((part) => !/^\d+$/.test(part)).join(".")), `: ${about.text} `, element("span", { class: "soft" }, more)));
    }
    const name = wordAt(text, pos);
    const isName = name.length > 1 && !/^\d/.test(name) && (!onKey || entry.path.at(-2) === "cc");
    const topics = isName ? await help.explain(name).catch(() => []) : [];
    parts.push(...topics.slice(0, 2).map(topicText));
    if (!parts.length) return null;
    return { pos: place.from, end: Math.max(place.to, pos), above: true, create: () => ({ dom: element("div", { class: "about" }, ...parts) }) };
  });
