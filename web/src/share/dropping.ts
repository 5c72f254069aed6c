// Files that are dropped on the page or chosen.
import { sized } from "../dom";
import type { Files } from "../engine/types";

/** All files together; a page has no more memory to spare. */
const MOST_BYTES = 300e6;
const MOST_FILES = 2000;

const entries = (folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> => {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  return new Promise((resolve, reject) => {
    const more = () => reader.readEntries((found) => {
      all.push(...found);
      if (found.length && all.length < MOST_FILES) more();
      else resolve(all);
    }, reject);
    more();
  });
};

/** Files of an entry by path, folders opened. */
const filesOf = async (entry: FileSystemEntry, path: string): Promise<[string, File][]> => {
  if (entry.isDirectory) {
    const inside = await entries(entry as FileSystemDirectoryEntry);
    return (await Promise.all(inside.map((each) => filesOf(each, path ? `${path}/${each.name}` : each.name)))).flat();
  }
  const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
  return [[path || entry.name, file]];
};

/** What was dropped. Paths begin below a folder that was dropped alone. */
export const dropped = async (transfer: DataTransfer): Promise<[string, File][]> => {
  const found = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (!found.length) return [...transfer.files].map((file) => [file.name, file]);
  if (found.length === 1 && found[0]!.isDirectory) return filesOf(found[0]!, "");
  return (await Promise.all(found.map((entry) => filesOf(entry, entry.name)))).flat();
};

const isText = (name: string) => /\.(toml|txt|csv|json|cm|topo|md)$/i.test(name);

export const contents = async (list: [string, File][]): Promise<Files> => {
  const bytes = list.reduce((sum, [, file]) => sum + file.size, 0);
  if (list.length > MOST_FILES) throw new Error(`${list.length} files are more than the page takes: ${MOST_FILES}`);
  if (bytes > MOST_BYTES) throw new Error(`the files have ${sized(bytes)}, the page takes ${sized(MOST_BYTES)}`);
  const read = async ([name, file]: [string, File]): Promise<[string, string | Uint8Array]> => [name, isText(name) ? await file.text() : new Uint8Array(await file.arrayBuffer())];
  return Object.fromEntries(await Promise.all(list.map(read)));
};

/** Results with a name, by folder: a folder of a comparison has one for each scenario, and each of those a folder for each seed. */
export const resultCells = (files: Files): { name: string; files: Files }[] => {
  const runs = Object.keys(files).filter((path) => /(^|\/)run\.json$/.test(path)).map((path) => path.slice(0, -"run.json".length));
  const cells = new Map<string, Files>();
  for (const [path, content] of Object.entries(files)) {
    const run = runs.filter((run) => path.startsWith(run)).sort((a, b) => b.length - a.length)[0];
    if (run === undefined) continue;
    const cell = run.replace(/(^|\/)seed-\d+\/$/, "$1");
    cells.set(cell, { ...cells.get(cell), [path.slice(cell.length)]: content });
  }
  return [...cells].map(([path, files]) => ({ name: path.replace(/\/$/, ""), files }));
};
