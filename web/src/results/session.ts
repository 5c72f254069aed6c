// Runs, what was kept of them, and the report that compares them.
import { byId, element, button, messageOf, say } from "../dom";
import type { Client } from "../engine/client";
import { Pool } from "../engine/pool";
import type { Cell, Estimate, Files, Look, Result } from "../engine/types";
import { firstSeed } from "../share/command";
import { downloads } from "./downloads";
import { LiveView } from "./live";
import { namesOf } from "./names";

/** Packet-hops of a run from which on its speed says something of others. */
const MEANINGFUL = 1e6;

/** A scenario that was run, with all its seeds. */
export interface Run {
  text: string;
  results: Result[];
  /** Of stored results: the name they had. */
  name?: string;
}

/** The report's drawing function; report.js is made of the scripts of report.html. */
type Draw = (data: unknown, into: HTMLElement) => void;

export class Session {
  private readonly pool = new Pool();
  private readonly live = new LiveView(byId("live"));
  private kept: Run[] = [];
  private shown: Run | undefined;
  private running: Promise<void> | undefined;
  private abandoned = false;
  private paused = false;
  private speed = 0;

  constructor(private readonly desk: Client) {
    byId("pause").addEventListener("click", () => this.pause());
    byId("cancel").addEventListener("click", () => this.cancel());
  }

  /** Ends what runs and shows nothing of it. */
  async abandon() {
    this.abandoned = this.running !== undefined;
    this.cancel();
    await this.running?.catch(() => undefined);
    this.abandoned = false;
  }

  /** The text of the editor is another one. */
  edited(text: string) {
    if (!this.running && this.shown && this.shown.text !== text) this.status("changed since this run");
  }

  async run(text: string, files: Files, seeds: number, estimate: Estimate | null) {
    if (this.running) return;
    this.running = this.all(text, files, seeds, estimate);
    await this.running;
  }

  private async all(text: string, files: Files, seeds: number, estimate: Estimate | null) {
    this.begin();
    const fractions = Array<number>(seeds).fill(0);
    const began = performance.now();
    let hops = 0;
    const look = (index: number, { fraction, live, packet_hops }: Look) => {
      fractions[index] = fraction;
      hops = Math.max(hops, packet_hops);
      const done = fractions.reduce((sum, each) => sum + each, 0) / seeds;
      byId<HTMLProgressElement>("progress").value = done;
      const left = ((performance.now() - began) * (1 - done)) / Math.max(done, 1e-3) / 1e3;
      if (!this.paused) this.status(`${Math.floor(done * 100)} %, ${left < 1 ? "less than a second" : `about ${Math.ceil(left)} s`} left`);
      if (index === 0 && live) this.live.show(live);
    };
    try {
      const exported = await this.pool.run({ text, files, first: firstSeed(text), seeds, memory: estimate?.memory_bytes ?? 0 }, look);
      const took = (performance.now() - began) / 1e3;
      if (hops > MEANINGFUL) this.speed = hops / took;
      if (this.abandoned) return;
      await this.show(await this.loaded(text, exported));
      const complete = this.shown!.results.every(({ complete }) => complete);
      this.status(`${complete ? "done" : "cancelled: these results are not complete"} after ${took.toFixed(1)} s`);
    } catch (error) {
      if (this.abandoned) return;
      this.status("no results");
      say(messageOf(error));
    } finally {
      this.end();
    }
  }

  /** Takes over what workers or files hold. */
  private async loaded(text: string, exported: Files[], name?: string): Promise<Run> {
    if (!exported.length) throw new Error("cancelled before any seed had results");
    return { text, name, results: (await Promise.all(exported.map((files) => this.desk.call("openResult", files)))).flat() };
  }

  private async show(run: Run) {
    const before = this.shown;
    this.shown = run;
    if (before && !this.kept.includes(before)) this.forget(before);
    await this.draw();
  }

  /** Shows results that were stored, several side by side. */
  async open(cells: { name: string; files: Files }[]) {
    await this.abandon();
    this.live.clear();
    const runs = await Promise.all(cells.map(({ name, files }) => this.loaded("", [files], name)));
    this.kept.filter((run) => run !== this.shown).forEach((run) => this.forget(run));
    this.kept = runs.slice(0, -1);
    await this.show(runs.at(-1)!);
    this.status("stored results");
  }

  private forget({ results }: Run) {
    for (const { id } of results) void this.desk.call("forget", id).catch(() => undefined);
  }

  private runs(): Run[] {
    return [...this.kept.filter((run) => run !== this.shown), ...(this.shown ? [this.shown] : [])];
  }

  private cells(): Cell[] {
    const runs = this.runs();
    const names = runs.length > 1 ? namesOf(runs.map(({ text }) => text)) : [runs[0]!.results[0]!.scenario];
    return runs.map(({ results, name }, index) => ({ name: name || names[index]!, ids: results.map(({ id }) => id) }));
  }

  private async draw() {
    const cells = this.cells();
    const title = this.shown!.results[0]!.scenario;
    const place = byId("result");
    const [data, { default: draw }] = await Promise.all([
      this.desk.call("report", title, cells),
      import(new URL("report.js", document.baseURI).href) as Promise<{ default: Draw }>,
    ]);
    draw(data, place);
    document.body.dataset.plotted = "report";
    this.comparison(cells);
    void downloads(this.desk, title, cells, this.shown!.results).catch((error) => say(messageOf(error)));
  }

  /** Buttons to keep a run and to drop those that were kept. */
  private comparison(cells: Cell[]) {
    const place = byId("kept");
    place.hidden = false;
    const others = this.kept.filter((run) => run !== this.shown);
    const isKept = this.kept.includes(this.shown!);
    const keep = button("Keep this run to compare", () => {
      this.kept.push(this.shown!);
      this.comparison(cells);
      byId("run").focus();
    });
    const drop = (run: Run, name: string) => button(`× ${name}`, () => {
      this.kept = this.kept.filter((other) => other !== run);
      if (run !== this.shown) this.forget(run);
      void this.draw();
    }, { "aria-label": `Compare no longer with ${name}` });
    place.replaceChildren(element("div", { class: "tools" },
      ...(isKept ? [element("span", {}, "Kept. Change one thing and run again.")] : [keep]),
      ...(others.length ? [element("span", { class: "soft" }, "Compared with:"), ...others.map((run, index) => drop(run, cells[index]!.name))] : [])));
  }

  private begin() {
    this.paused = false;
    say("");
    this.live.clear();
    for (const id of ["pause", "cancel", "progress"]) byId(id).hidden = false;
    byId<HTMLProgressElement>("progress").value = 0;
    byId("pause").textContent = "Pause";
    this.status("starts");
  }

  private end() {
    this.running = undefined;
    for (const id of ["pause", "cancel", "progress"]) byId(id).hidden = true;
  }

  private pause() {
    this.paused = !this.paused;
    this.pool.tell(this.paused ? "pause" : "resume");
    byId("pause").textContent = this.paused ? "Go on" : "Pause";
    if (this.paused) this.status("paused");
  }

  cancel() {
    if (this.running) this.pool.tell("cancel");
  }

  status(text: string) {
    byId("status").textContent = text;
  }

  /** About how long so much work takes here, if a run has shown it. */
  secondsFor(hops: number): number | undefined {
    return this.speed && hops > MEANINGFUL ? hops / this.speed : undefined;
  }

  redraw() {
    this.live.redraw();
  }
}
