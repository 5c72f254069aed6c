// The page: puts editor, settings, runs and links together.
import { Checker } from "./checker";
import { byId, messageOf, rested, say } from "./dom";
import { Editor } from "./editor/editor";
import { Client } from "./engine/client";
import type { Check, Files } from "./engine/types";
import { rendered, type Lesson } from "./lessons/lessons";
import { Menu, type Chosen } from "./menu";
import { Session } from "./results/session";
import { Book } from "./schema";
import { Settings, type Pin } from "./settings/pane";
import { copyDialog } from "./share/copying";
import { pythonCommand, shellCommand } from "./share/command";
import { contents, dropped, resultCells } from "./share/dropping";
import { decode, encode } from "./share/fragment";
import { watchTheme } from "./theme";
import { applied } from "./toml/edit";
import { layout, namedPath } from "./toml/places";

const FIRST = "template=two-dc-mix";
/** Scenarios from links run at once if they are no more work than this, in packet-hops. */
const SMALL = 60e6;
const MOST_SEEDS = 32;

const desk = new Client();
const session = new Session(desk);
const seeds = byId<HTMLInputElement>("seeds");
let book: Book | undefined;
let files: Files = {};
let template: { name: string; text: string } | undefined;

const editor = new Editor(byId("editor"), { book: () => book, explain: (name) => desk.call("explain", name) }, {
  changed: () => {
    settings.render();
    session.edited(editor.text);
    checkSoon();
  },
  pin: (path) => settings.pin(path),
  run: () => void run(),
});
const settings = new Settings(editor, () => book, () => void moved());
const checker = new Checker(desk, editor, session);
const checkSoon = rested(250, () => void check());
const check = (): Promise<Check | undefined> => checker.check(files);

const seedCount = () => Math.min(MOST_SEEDS, Math.max(1, Math.round(Number(seeds.value)) || 1));

/** Checks and runs what the editor holds. A run that goes on is given up. */
const run = async () => {
  await session.abandon();
  seeds.value = String(seedCount());
  const found = await check();
  if (found?.estimate && !found.estimate.fits) session.status("not run: too large for a browser tab");
  else if (!found || found.diagnostics.some(({ severity }) => severity === "error")) session.status("not run: the scenario has mistakes");
  else await session.run(editor.text, files, seedCount(), found.estimate);
};

/** Runs again after a slider was moved, if that is wanted and does not take long. */
const moved = async () => {
  if (!byId<HTMLInputElement>("follow").checked) return;
  const found = await check();
  if (found?.estimate && found.estimate.packet_hops * seedCount() < SMALL) await run();
};

interface Opened {
  key: string;
  text: string;
  files: Files;
  seeds: number;
  pins: Pin[];
  lesson?: Lesson;
  template?: typeof template;
  runs: "always" | "small" | "never";
}

/** Shows a scenario, and runs it if that does not take long. */
const open = async (opened: Opened) => {
  await session.abandon();
  say("");
  ({ files, template } = opened);
  seeds.value = String(opened.seeds);
  editor.text = opened.text;
  settings.setPins(opened.pins);
  menu.show(opened.key);
  showLesson(opened.lesson);
  const found = await check();
  const small = found?.estimate && found.estimate.packet_hops * opened.seeds < SMALL;
  if (opened.runs === "always" || (opened.runs === "small" && small)) await run();
};

const showLesson = (lesson: Lesson | undefined) => {
  const place = byId("lesson");
  place.hidden = !lesson;
  document.body.classList.toggle("with-lesson", Boolean(lesson));
  place.replaceChildren(...(lesson ? rendered(lesson, (change) => {
    editor.text = applied(editor.text, change.split(";;"));
    void run();
  }) : []));
};

/** Sliders to begin with: the marking threshold and the load, if the scenario has them. */
const firstPins = (text: string): Pin[] => {
  const found = layout(text);
  const paths = found.entries.map(({ path }) => path).filter((path) => /(^|\.)(marking\.step\.k|poisson\.load)$/.test(path.join(".")));
  return paths.slice(0, 3).map((path) => ({ path: namedPath(found, path) }));
};

const openChosen = (key: string, { scenario, lesson, isTemplate }: Chosen, runs: Opened["runs"]) => open({
  key, text: applied(scenario.text, scenario.sets), files: scenario.files, seeds: lesson?.seeds ?? 1, pins: lesson?.pins ?? firstPins(scenario.text), lesson, runs,
  template: isTemplate ? { name: scenario.name, text: scenario.text } : undefined,
});

const menu = new Menu((key, chosen) => {
  history.replaceState(null, "", `#${encodeURI(key)}`);
  void openChosen(key, chosen, "small").catch((error) => say(messageOf(error)));
});

/** Opens what the address says: a name (`#template=incast`), or a whole laboratory (`#s=…`). */
const openAddress = async (first: boolean) => {
  const fragment = location.hash.slice(1);
  try {
    if (fragment.startsWith("s=")) {
      const shared = await decode(fragment.slice(2));
      await open({ ...shared, key: "from a link", text: applied(shared.text, shared.sets), runs: "small" });
      return;
    }
    const key = fragment.length < 200 ? decodeURIComponent(fragment) : "";
    const found = menu.find(key);
    if (fragment && !found) throw new Error(`the link names nothing that this playground has: ${fragment.slice(0, 80)}`);
    if (found) await openChosen(key, found, "small");
    else if (first) await openChosen(FIRST, menu.find(FIRST)!, "always");
  } catch (error) {
    if (first) await openChosen(FIRST, menu.find(FIRST)!, "never");
    say(messageOf(error));
  }
};

const share = async () => {
  const texts = Object.entries(files).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const packed = await encode({ text: editor.text, seeds: seedCount(), pins: settings.pins, sets: [], files: Object.fromEntries(texts) });
  history.replaceState(null, "", `#s=${packed}`);
  copyDialog("Link", "The link holds the scenario itself; nothing is stored anywhere.", [["link", location.href]]);
};

const copyCommand = () => {
  const named = { text: editor.text, seeds: seedCount(), template };
  copyDialog("Copy as command", "The same run with Narrows on your machine: the same seed gives the same bytes.", [["shell command", shellCommand(named)], ["Python program", pythonCommand(named)]]);
};

const take = async (list: [string, File][]) => {
  if (!list.length) return;
  const given = await contents(list);
  const [firstName] = Object.keys(given);
  const read = await desk.call("import", "auto", given);
  const name = list.length === 1 ? firstName! : "dropped files";
  if (read.kind === "result") {
    await session.open(resultCells(given));
    return;
  }
  await open({ key: name, text: read.text, files: { ...given, ...read.files }, seeds: 1, pins: [], runs: "never" });
  const notes = (read.notes ?? []).map(({ what, why }) => `${what}: ${why}`);
  if (notes.length) say(`Converted. Left out or changed: ${notes.join("; ")}`);
};

const attempt = (work: () => unknown) => () => void Promise.resolve().then(work).catch((error) => say(messageOf(error)));

const listen = () => {
  byId("run").addEventListener("click", attempt(run));
  byId("share").addEventListener("click", attempt(share));
  byId("command").addEventListener("click", attempt(copyCommand));
  const input = byId<HTMLInputElement>("file");
  byId("open").addEventListener("click", () => input.click());
  input.addEventListener("change", attempt(async () => {
    await take([...(input.files ?? [])].map((file) => [file.name, file]));
    input.value = "";
  }));
  for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
  // Before the editor, which would take a file for text.
  addEventListener("drop", (event) => {
    const transfer = event.dataTransfer;
    if (!transfer?.types.includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    attempt(async () => take(await dropped(transfer)))();
  }, true);
  // Links inside the page scroll; the address stays that of the scenario.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
    const target = link && document.getElementById(link.getAttribute("href")!.slice(1));
    if (!target) return;
    event.preventDefault();
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  });
  addEventListener("hashchange", () => void openAddress(false));
};

const start = async () => {
  watchTheme(() => session.redraw());
  listen();
  try {
    const [catalog, schema] = await Promise.all([desk.call("catalog"), desk.call("schema")]);
    book = new Book(schema);
    menu.fill(catalog);
    byId<HTMLButtonElement>("run").disabled = false;
    session.status("");
    await openAddress(true);
  } catch (error) {
    session.status("the engine is not there");
    say(messageOf(error));
  }
};

void start();
