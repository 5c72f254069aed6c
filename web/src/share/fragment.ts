// A laboratory as the fragment of an address: compressed JSON. Browsers never send fragments to servers.
import type { Pin } from "../settings/pane";

/** What a link carries. */
export interface Shared {
  text: string;
  seeds: number;
  pins: Pin[];
  /** Settings that replace those of the text: `PATH=VALUE`. */
  sets: string[];
  /** Texts that the scenario names: traces, distributions. */
  files: Record<string, string>;
}

/** Characters of a fragment, and bytes of what it holds. Scenarios have some thousand. */
const MOST_ENCODED = 400_000;
const MOST_BYTES = 2_000_000;
/** Characters of the scenario itself, which the page reads again at every change. */
const MOST_TEXT = 300_000;
const MOST_SEEDS = 32;
const MOST_PINS = 50;

const toBase64url = (bytes: Uint8Array) => {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
};

const fromBase64url = (text: string): Uint8Array<ArrayBuffer> => {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new Error("the link holds characters that links of the playground do not have");
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
};

export const encode = async (shared: Shared): Promise<string> => {
  const stream = new Blob([JSON.stringify(shared)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const text = toBase64url(new Uint8Array(await new Response(stream).arrayBuffer()));
  if (text.length > MOST_ENCODED) throw new Error(`the scenario and its files are too long for a link: ${text.length} of ${MOST_ENCODED} characters`);
  return text;
};

/** Unpacks no more than the bound, however much would follow. */
const unpack = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> => {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST_BYTES) {
      await reader.cancel().catch(() => undefined);
      throw new Error(`the link unpacks to more than ${MOST_BYTES / 1e6} MB`);
    }
    parts.push(value as Uint8Array<ArrayBuffer>);
  }
  return new Blob(parts).text();
};

const isText = (value: unknown): value is string => typeof value === "string";
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.filter(isText) : []);
const pinOf = (value: unknown): Pin[] => {
  if (value === null || typeof value !== "object") return [];
  const { path, from, to } = value as Record<string, unknown>;
  return isText(path) ? [{ path, ...(isText(from) && isText(to) ? { from, to } : {}) }] : [];
};

export const decode = async (text: string): Promise<Shared> => {
  if (text.length > MOST_ENCODED) throw new Error(`the link is too long: ${text.length} of ${MOST_ENCODED} characters`);
  let read: Record<string, unknown>;
  try {
    read = JSON.parse(await unpack(fromBase64url(text)));
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("the link")) throw error;
    throw new Error("the link is damaged: it cannot be unpacked");
  }
  if (read === null || typeof read !== "object" || !isText(read.text)) throw new Error("the link holds no scenario");
  if (read.text.length > MOST_TEXT) throw new Error(`the link holds a scenario of ${read.text.length} characters, the page takes ${MOST_TEXT}`);
  const files = read.files !== null && typeof read.files === "object" ? Object.entries(read.files as object).filter((entry): entry is [string, string] => isText(entry[1])) : [];
  const seeds = Number.isInteger(read.seeds) ? Math.min(MOST_SEEDS, Math.max(1, read.seeds as number)) : 1;
  const pins = Array.isArray(read.pins) ? read.pins.slice(0, MOST_PINS).flatMap(pinOf) : [];
  return { text: read.text, seeds, pins, sets: texts(read.sets), files: Object.fromEntries(files) };
};
