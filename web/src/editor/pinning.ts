// Offers to make a slider of the number that the cursor stands in.
import { StateField, type EditorState } from "@codemirror/state";
import { keymap, showTooltip, type Tooltip } from "@codemirror/view";
import { button, element } from "../dom";
import { quantity } from "../settings/quantity";
import { layout, namedPath } from "../toml/places";
import { entryAt } from "./hover";

/** The number at the cursor: where it begins, and its path as `--set` takes it. */
const numberAt = (state: EditorState): { from: number; path: string } | undefined => {
  const { head, empty } = state.selection.main;
  if (!empty) return undefined;
  const text = state.doc.toString();
  const found = layout(text);
  const entry = entryAt(found.entries, head);
  if (!entry || head < entry.value.from || !quantity(text.slice(entry.value.from, entry.value.to))) return undefined;
  return { from: entry.value.from, path: namedPath(found, entry.path) };
};

export const pinning = (pin: (path: string) => void) => {
  const tooltip = (state: EditorState): Tooltip | null => {
    const found = numberAt(state);
    if (!found) return null;
    const offer = () => element("div", { class: "pin" }, button("Pin as slider (Ctrl-.)", () => pin(found.path)));
    return { pos: found.from, above: true, create: () => ({ dom: offer() }) };
  };
  return [
    StateField.define<Tooltip | null>({
      create: tooltip,
      update: (before, { state, docChanged, selection }) => (docChanged || selection ? tooltip(state) : before),
      provide: (field) => showTooltip.from(field),
    }),
    keymap.of([{
      key: "Mod-.",
      run: ({ state }) => {
        const found = numberAt(state);
        if (found) pin(found.path);
        return found !== undefined;
      },
    }]),
  ];
};
