// Results as files to take away.
import { button, byId, element, messageOf, say, sized } from "../dom";
import type { Client } from "../engine/client";
import type { Cell, Result } from "../engine/types";

export const save = (name: string, type: string, content: string | Uint8Array) => {
  const blob = new Blob([content as BlobPart], { type });
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

const fileName = (text: string) => text.replaceAll(/[^\p{L}\p{N}+.-]+/gu, "-").slice(0, 80);

const shown = (work: () => Promise<void>) => () => void work().catch((error) => say(messageOf(error)));

/** Buttons for the report and for all files of each seed. */
export const downloads = async (desk: Client, title: string, cells: Cell[], results: Result[]) => {
  const place = byId("downloads");
  const report = button("report.html", shown(async () => save(`${fileName(title)}.html`, "text/html", await desk.call("reportPage", title, cells))));
  const lists = await Promise.all(results.map(async ({ id, seed, scenario }) => {
    const files = (await desk.call("files", id)).filter(({ name }) => name !== "report.html");
    const one = ({ name, bytes }: { name: string; bytes: number }) => button(`${name}, ${sized(bytes)}`, shown(async () => {
      save(fileName(`${scenario}-seed-${seed}-${name}`), "application/octet-stream", await desk.call("file", id, name));
    }));
    return element("p", { class: "tools" }, `seed ${seed}: `, ...files.map(one));
  }));
  place.hidden = false;
  place.replaceChildren(element("details", {}, element("summary", {}, "Take it away: report, Parquet files, scenario"), element("p", { class: "tools" }, report), ...lists));
};
