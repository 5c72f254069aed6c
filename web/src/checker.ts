// Checks the scenario in a worker and shows what it says, in the words of the terminal.
import { byId, element, grouped, messageOf, say, sized } from "./dom";
import { inText, type Editor } from "./editor/editor";
import type { Client } from "./engine/client";
import type { Check, Diagnostic, Files } from "./engine/types";
import type { Session } from "./results/session";

export class Checker {
  private latest = 0;

  constructor(
    private readonly desk: Client,
    private readonly editor: Editor,
    private readonly session: Session,
  ) {}

  /** The newest check wins; an older one shows nothing. */
  async check(files: Files): Promise<Check | undefined> {
    const turn = (this.latest += 1);
    const text = this.editor.text;
    try {
      const found = await this.desk.call("check", text, files, []);
      if (turn === this.latest && text === this.editor.text) this.show(found);
      return found;
    } catch (error) {
      say(messageOf(error));
      return undefined;
    }
  }

  private show({ diagnostics, estimate }: Check) {
    this.editor.mark(diagnostics);
    byId("problems").replaceChildren(...diagnostics.map((diagnostic) => this.problem(diagnostic)));
    const place = byId("estimate");
    place.classList.toggle("notes", estimate !== null && !estimate.fits);
    if (!estimate) place.textContent = "";
    else if (!estimate.fits) {
      place.textContent = `This scenario may take ${sized(estimate.memory_bytes)} of memory; a browser tab has ${sized(estimate.most_memory_bytes)}. “Copy as command” runs it on your machine.`;
    } else {
      const seconds = this.session.secondsFor(estimate.packet_hops);
      place.textContent = `about ${millions(estimate.packet_hops)} packet-hops${seconds ? `, ${seconds < 1 ? "less than a second" : `${Math.ceil(seconds)} s`} a seed` : ""} · at most ${sized(estimate.memory_bytes)} of memory`;
    }
  }

  private problem(diagnostic: Diagnostic): HTMLElement {
    const { severity, code, message, label, help, file, from } = diagnostic;
    const place = from ? `${file === "scenario.toml" ? "line" : `${file}:`} ${from.line}:${from.column}` : "";
    const show = inText(diagnostic) ? element("button", { type: "button", onclick: () => this.editor.show(from!.offset) }, place) : element("span", { class: "soft" }, place);
    return element("div", { class: `problem ${severity}` },
      element("p", {}, element("b", {}, `${severity === "error" ? "×" : "⚠"} ${code} `), message, " ", show, label && label !== "here" ? ` (${label})` : ""),
      ...(help ? [element("p", { class: "soft" }, `help: ${help}`)] : []),
      this.explanation(code));
  }

  /** It is looked up when somebody opens it. */
  private explanation(code: string): HTMLElement {
    const text = element("p");
    const place = element("details", {}, element("summary", {}, `explain ${code}`), text);
    const look = async () => { text.textContent = (await this.desk.call("explain", code)).map(({ about }) => about).join("\n"); };
    place.addEventListener("toggle", () => void look().catch((error) => say(messageOf(error))), { once: true });
    return place;
  }
}

const millions = (hops: number) => (hops >= 1e6 ? `${grouped(hops / 1e6)} million` : grouped(hops));
