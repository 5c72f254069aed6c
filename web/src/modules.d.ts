declare module "narrows:lessons" {
  const lessons: import("./lessons/lessons").Lesson[];
  export default lessons;
}

declare module "*/engine.js" {
  import type { Files, Look, Result, Started } from "./engine/types";

  export class Engine {
    static load(module: unknown): Promise<Engine>;
    readonly broken: boolean;
    start(text: string, options: { files: Files; seed: number | null; live: boolean }): Started;
    advance(handle: number, hops: number, elapsed: number): Look;
    cancel(handle: number): void;
    finish(handle: number): Result;
    export(id: number): Files;
    forget(id: number): void;
  }
}
