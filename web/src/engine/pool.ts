// One run for each seed, side by side as far as cores and memory go.
import { Client } from "./client";
import type { Files, Look } from "./types";

/** What runs of a page may take together. */
const MEMORY = 3e9;
const WORKERS = Math.max(1, Math.min(8, navigator.hardwareConcurrency || 2));

export interface Batch {
  text: string;
  files: Files;
  /** The first seed; those behind it follow. */
  first: number;
  seeds: number;
  memory: number;
}

export class Pool {
  private clients: Client[] = [];
  private busy: Client[] = [];
  private cancelled = false;
  /** While paused, no seed begins. */
  private paused: Promise<void> | undefined;
  private goOn: (() => void) | undefined;

  /** Results by seed. `look` is called with the number of the seed among all. */
  async run({ text, files, first, seeds, memory }: Batch, look: (index: number, look: Look) => void): Promise<Files[]> {
    this.cancelled = false;
    const side = Math.max(1, Math.min(seeds, WORKERS, Math.floor(MEMORY / Math.max(memory, 1))));
    while (this.clients.length < side) this.clients.push(new Client());
    this.busy = this.clients.slice(0, side);
    const results: Files[] = [];
    let next = 0;
    const work = async (client: Client) => {
      for (;;) {
        await this.paused;
        if (next >= seeds || this.cancelled) return;
        const index = next;
        next += 1;
        results[index] = await client.run({ text, files, seed: first + index }, (seen) => look(index, seen));
      }
    };
    try {
      await Promise.all(this.busy.map(work));
    } catch (error) {
      this.cancelled = true;
      this.tell("cancel");
      throw error;
    } finally {
      this.busy = [];
    }
    return results.filter(Boolean);
  }

  tell(kind: "pause" | "resume" | "cancel") {
    if (kind === "cancel") this.cancelled = true;
    if (kind === "pause") this.paused = new Promise((resolve) => { this.goOn = resolve; });
    else {
      this.goOn?.();
      this.paused = undefined;
    }
    this.busy.forEach((client) => client.tell(kind));
  }
}
