// What the page writes by itself is accepted by the engine: lessons with all their buttons, and what menus offer.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { compiled } from "./support/modules.mjs";

const { LESSONS, applied, layout, entryOf, Book, choices } = await compiled("lessons/lessons", "toml/edit", "toml/places", "schema", "settings/choices");
const path = process.env.NARROWS_ENGINE;
const engine = path && (await (await import("../engine.js")).Engine.load(await readFile(path)));
const options = { skip: path ? false : "NARROWS_ENGINE names no module" };

const fine = (text, where) => {
  const wrong = engine.check(text).diagnostics.filter(({ severity }) => severity === "error");
  assert.deepEqual(wrong.map(({ code, message }) => `${code} ${message}`), [], where);
};

const buttons = ({ text }) => [...text.matchAll(/\]\(set:((?:[^()]|\([^()]*\))+)\)/g)].map(([, change]) => change.split(";;"));

test("every lesson has a scenario without mistakes, with and without its buttons", options, () => {
  for (const lesson of LESSONS) {
    fine(lesson.scenario, lesson.name);
    for (const change of buttons(lesson)) fine(applied(lesson.scenario, change), `${lesson.name}: ${change}`);
  }
});

test("a scenario of a paper is opened with the settings of its experiment", options, () => {
  for (const { name, text, files, sets } of engine.catalog().papers.flatMap(({ scenarios }) => scenarios)) {
    const [found, expected] = [engine.check(applied(text, sets), files), engine.check(text, files, sets)];
    const told = ({ diagnostics, summary }) => [diagnostics.map(({ code, message }) => `${code} ${message}`), summary];
    assert.deepEqual(told(found), told(expected), name);
  }
});

test("every slider of a lesson is of a setting that is there, at once or after a button", () => {
  for (const lesson of LESSONS) {
    const texts = [lesson.scenario, ...buttons(lesson).map((change) => applied(lesson.scenario, change))];
    for (const { path } of lesson.pins) assert.ok(texts.some((text) => entryOf(layout(text), path)), `${lesson.name}: ${path}`);
  }
});

test("what a menu offers for a template is written as the engine reads it", options, () => {
  const book = new Book(engine.schema());
  for (const { name, text, files } of engine.catalog().templates) {
    for (const choice of choices(book, text)) {
      for (const option of choice.options) {
        const changed = text.slice(0, choice.from) + choice.before + option.text + text.slice(choice.to);
        // What does not go together is said; what cannot be read would be the page's fault.
        const unread = engine.check(changed, files).diagnostics.filter(({ severity, code }) => severity === "error" && /^N000/.test(code));
        assert.deepEqual(unread.map(({ message }) => message), [], `${name}: ${choice.path} = ${option.text}`);
      }
    }
  }
});
