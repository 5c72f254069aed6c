// A worker with one engine: answers calls, and runs a scenario slice by slice so that messages come through.
import { Engine } from "../../engine.js";
import type { Diagnostic, FromWorker, RunRequest, ToWorker } from "./types";

/** Milliseconds of a slice at most: so long a message waits. */
const SLICE = 60;
/** So often a short run is looked at. */
const LOOKS = 80;
/** Packet-hops of the first slice, and of the smallest. */
const FEWEST = 2000;

const send = (message: FromWorker, transfer: Transferable[] = []) => (self as unknown as Worker).postMessage(message, transfer);

let engine: Promise<Engine> | undefined;
type Wish = "run" | "pause" | "cancel";
let wish: Wish = "run";
/** Changes while the run awaits messages. */
const wished = (): Wish => wish;
let awake: (() => void) | undefined;

/** Lets messages in. A message to oneself comes sooner than a timer. */
const breathe = () => new Promise<void>((resolve) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(null);
});

const run = async (id: number, { text, files, seed }: RunRequest) => {
  const machine = await engine!;
  wish = "run";
  const { handle } = machine.start(text, { files, seed, live: true });
  let hops = FEWEST, elapsed = 0, reached = 0;
  for (let done = false; !done; ) {
    await breathe();
    if (wished() === "pause") await new Promise<void>((resolve) => { awake = resolve; });
    if (wished() === "cancel") {
      machine.cancel(handle);
      break;
    }
    const began = performance.now();
    const look = machine.advance(handle, hops, elapsed);
    const took = performance.now() - began;
    // The next slice takes neither too long nor too much of the run; runs become slower and faster.
    const [byTime, byShare] = [hops * SLICE / Math.max(took, 0.1), hops / Math.max(LOOKS * (look.fraction - reached), 0.25)];
    hops = Math.max(FEWEST, Math.min(byTime, byShare));
    elapsed += took;
    reached = look.fraction;
    done = look.done;
    send({ kind: "look", id, look });
  }
  const result = machine.finish(handle);
  const exported = machine.export(result.id);
  machine.forget(result.id);
  return exported;
};

const answer = async (id: number, work: () => Promise<unknown>) => {
  try {
    const value = await work();
    const parts = value instanceof Uint8Array ? [value] : Object.values(value ?? {}).filter((part) => part instanceof Uint8Array);
    send({ kind: "answer", id, value }, [...new Set(parts.map(({ buffer }) => buffer as ArrayBuffer))]);
  } catch (error) {
    const { message, diagnostics } = error as Error & { diagnostics?: Diagnostic[] };
    const broken = engine ? await engine.then((machine) => machine.broken, () => true) : true;
    send({ kind: "failed", id, message, diagnostics: diagnostics ?? null, broken });
  }
};

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "module") engine = Engine.load(data.module);
  else if (data.kind === "run") void answer(data.id, () => run(data.id, data.request));
  else if (data.kind === "call") void answer(data.id, async () => ((await engine!) as unknown as Record<string, (...args: unknown[]) => unknown>)[data.name]!(...data.args));
  else {
    wish = data.kind === "resume" ? "run" : data.kind;
    awake?.();
    awake = undefined;
  }
};
