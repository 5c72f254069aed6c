// The scenario as text: highlighted, completed, explained and checked where it is written.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic as Mark } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Diagnostic } from "../engine/types";
import type { Helper } from "./help";
import { completion } from "./completion";
import { explanation } from "./hover";
import { pinning } from "./pinning";

const COLORS = HighlightStyle.define([
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--number)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.bracket, tags.keyword, tags.heading], fontWeight: "600" },
]);

export interface Wishes {
  changed(): void;
  pin(path: string): void;
  run(): void;
}

export class Editor {
  readonly view: EditorView;

  constructor(place: HTMLElement, help: Helper, wishes: Wishes) {
    this.view = new EditorView({
      parent: place,
      state: EditorState.create({
        extensions: [
          lineNumbers(), history(), drawSelection(), bracketMatching(), closeBrackets(), highlightActiveLine(), lintGutter(),
          StreamLanguage.define(toml), syntaxHighlighting(COLORS), EditorView.lineWrapping,
          autocompletion({ override: [completion(help)] }), explanation(help), pinning(wishes.pin),
          // Tab moves on to what comes next on the page.
          keymap.of([
            { key: "Mod-Enter", run: () => { wishes.run(); return true; } },
            ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap,
          ]),
          EditorView.contentAttributes.of({ "aria-label": "Scenario, TOML" }),
          EditorView.updateListener.of(({ docChanged }) => { if (docChanged) wishes.changed(); }),
        ],
      }),
    });
  }

  get text() {
    return this.view.state.doc.toString();
  }

  set text(insert: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert }, selection: { anchor: 0 } });
    this.view.scrollDOM.scrollTop = 0;
  }

  /** Replaces a part. */
  change(from: number, to: number, insert: string) {
    if (this.view.state.sliceDoc(from, to) !== insert) this.view.dispatch({ changes: { from, to, insert } });
  }

  show(from: number) {
    this.view.dispatch({ selection: { anchor: Math.min(from, this.view.state.doc.length) }, scrollIntoView: true });
    this.view.focus();
  }

  /** Underlines what is wrong. */
  mark(diagnostics: Diagnostic[]) {
    const length = this.view.state.doc.length;
    const marks = diagnostics.filter(inText).map((diagnostic): Mark => {
      const from = Math.min(diagnostic.from!.offset, length);
      const to = Math.min(Math.max(diagnostic.to?.offset ?? from, from), length);
      return { from, to, severity: diagnostic.severity, source: diagnostic.code, message: [diagnostic.message, diagnostic.help && `help: ${diagnostic.help}`].filter(Boolean).join("\n") };
    });
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }
}

/** It has a place in the scenario itself. */
export const inText = ({ file, from }: Diagnostic) => from !== null && file === "scenario.toml";
