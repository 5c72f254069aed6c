// Workers with engines, as seen from the page.
import type { Calls, Files, FromWorker, Look, RunRequest, ToWorker } from "./types";
import { EngineError } from "./types";

type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void; look?: (look: Look) => void };

/** The module is compiled once, for all workers. */
const compile = async (): Promise<WebAssembly.Module> => {
  const address = new URL("engine.wasm", document.baseURI);
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the engine could not be loaded: ${answer.status} ${answer.statusText} for ${address.pathname}`);
  const typed = answer.headers.get("content-type")?.startsWith("application/wasm");
  return typed ? WebAssembly.compileStreaming(answer) : WebAssembly.compile(await answer.arrayBuffer());
};
let compiled: Promise<WebAssembly.Module> | undefined;

/** A worker with an engine. One that broke is replaced at the next call. */
export class Client {
  private worker: Worker | undefined;
  private waiting = new Map<number, Waiting>();
  private last = 0;

  private async started(): Promise<Worker> {
    const module = await (compiled ??= compile());
    if (this.worker) return this.worker;
    const worker = new Worker("worker.js", { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.receive(data);
    worker.onerror = ({ message }) => this.end(new EngineError(message || "the worker of the engine could not be started", null));
    this.worker = worker;
    this.post({ kind: "module", module });
    return worker;
  }

  private post(message: ToWorker) {
    this.worker?.postMessage(message);
  }

  private receive(message: FromWorker) {
    const waiting = this.waiting.get(message.id);
    if (!waiting) return;
    if (message.kind === "look") {
      waiting.look?.(message.look);
      return;
    }
    this.waiting.delete(message.id);
    if (message.kind === "answer") waiting.resolve(message.value as never);
    else {
      waiting.reject(new EngineError(message.message, message.diagnostics));
      if (message.broken) this.end(new EngineError("the engine was restarted", null));
    }
  }

  /** Ends the worker; whoever waits for it gets the error. */
  end(error: Error) {
    this.worker?.terminate();
    this.worker = undefined;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  private async ask<T>(message: (id: number) => ToWorker, look?: (look: Look) => void): Promise<T> {
    await this.started();
    const id = (this.last += 1);
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, look } as Waiting);
      this.post(message(id));
    });
  }

  call<Name extends keyof Calls>(name: Name, ...args: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>> {
    return this.ask((id) => ({ kind: "call", id, name, args }));
  }

  /** Runs a scenario; resolves to the files of its results. */
  run(request: RunRequest, look: (look: Look) => void): Promise<Files> {
    return this.ask((id) => ({ kind: "run", id, request }), look);
  }

  tell(kind: "pause" | "resume" | "cancel") {
    this.post({ kind });
  }
}
