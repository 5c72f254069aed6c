// What goes in and out of the engine; web/API.md describes it.

export type Files = Record<string, string | Uint8Array>;

export interface Place {
  line: number;
  column: number;
  offset: number;
}

export interface Diagnostic {
  severity: "error" | "warning";
  code: string;
  title: string;
  message: string;
  label: string | null;
  help: string | null;
  file: string | null;
  from: Place | null;
  to: Place | null;
}

export interface Scenario {
  name: string;
  summary: string;
  text: string;
  sets: string[];
  files: Files;
}

export interface Catalog {
  version: string;
  templates: Scenario[];
  examples: Scenario[];
  papers: { name: string; title: string; scenarios: Scenario[] }[];
  controls: { name: string; summary: string; source: string; toml: string }[];
}

export interface Topic {
  name: string;
  kind: string;
  summary: string;
  source: string;
  about: string;
}

export interface Estimate {
  memory_bytes: number;
  packet_hops: number;
  most_memory_bytes: number;
  fits: boolean;
}

export interface Check {
  diagnostics: Diagnostic[];
  summary: unknown;
  estimate: Estimate | null;
}

export interface QueueRow {
  name: string;
  most: number;
  peak: number;
}

export interface GroupRow {
  name: string;
  control: string;
  rate_bps: number;
  active: number;
  finished: number;
}

export interface WindowRow {
  name: string;
  cwnd_bytes: number;
}

export interface Live {
  at_ps: number;
  end_ps: number;
  speed: { simulated: number; packets: number };
  left_s: number | null;
  queues: { all: number; rows: QueueRow[] };
  groups: { all: number; rows: GroupRow[] };
  windows: WindowRow[];
  activity: { all: number; rows: { what: string; times: number; since: number }[] };
}

export interface Look {
  done: boolean;
  fraction: number;
  now_ps: number;
  packet_hops: number;
  live: Live | null;
}

export interface Started {
  handle: number;
  name: string;
  network: string;
  seed: number;
  simulated: string;
  end_ps: number;
}

export interface Result {
  id: number;
  scenario: string;
  network: string;
  seed: number;
  complete: boolean;
  version: string;
  warnings: string[];
}

export interface Cell {
  name: string;
  ids: number[];
}

export interface Imported {
  kind?: string;
  text: string;
  files: Files;
  read: string[];
  notes: { what: string; why: string }[];
  warnings: Diagnostic[];
}

export interface StoredFile {
  name: string;
  bytes: number;
}

/** Calls that any worker answers, with what they take and return. */
export interface Calls {
  catalog(): Catalog;
  schema(): import("../schema").Schema;
  explain(name: string): Topic[];
  check(text: string, files: Files, sets: string[]): Check;
  openResult(files: Files): Result[];
  files(id: number): StoredFile[];
  file(id: number, name: string): Uint8Array;
  forget(id: number): void;
  report(title: string, cells: Cell[]): unknown;
  reportPage(title: string, cells: Cell[]): string;
  import(kind: string, files: Files, options?: Record<string, string>): Imported;
}

/** A run in a worker: messages to it, and from it. */
export interface RunRequest {
  text: string;
  files: Files;
  seed: number | null;
}

export type ToWorker =
  | { kind: "module"; module: WebAssembly.Module }
  | { kind: "call"; id: number; name: keyof Calls; args: unknown[] }
  | { kind: "run"; id: number; request: RunRequest }
  | { kind: "pause" | "resume" | "cancel" };

export type FromWorker =
  | { kind: "answer"; id: number; value: unknown }
  | { kind: "failed"; id: number; message: string; diagnostics: Diagnostic[] | null; broken: boolean }
  | { kind: "look"; id: number; look: Look };

/** The engine refused an input, or broke. */
export class EngineError extends Error {
  constructor(
    message: string,
    readonly diagnostics: Diagnostic[] | null,
  ) {
    super(message);
  }
}
