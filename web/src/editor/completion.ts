// Completes keys and values from the schema.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Book } from "../schema";
import { endingAt } from "../toml/places";
import type { Helper } from "./help";

const keyAt = (book: Book, path: string[]): Completion[] =>
  book.keys(path).map(({ name, schema }) => {
    const value = book.shape(schema);
    const info = (schema.description ?? "").replaceAll("\n", " ");
    return { label: name, type: "property", detail: value, apply: `${name} = ${value}`, info };
  });

const valueAt = (book: Book, path: string[]): Completion[] =>
  book.options(path).map(({ text, about }) => ({ label: text, type: "constant", info: about.replaceAll("\n", " ") }));

const headerAt = (book: Book, path: string[]): Completion[] =>
  book.keys(path).map(({ name, schema }) => ({ label: name, type: "namespace", info: (schema.description ?? "").replaceAll("\n", " ") }));

export const completion = (help: Helper) => (context: CompletionContext): CompletionResult | null => {
  const book = help.book();
  if (!book) return null;
  const { at, path, from } = endingAt(context.state.doc.toString(), context.pos);
  if (at === "elsewhere" || (from === context.pos && !context.explicit && at !== "value")) return null;
  const options = at === "key" ? keyAt(book, path) : at === "header" ? headerAt(book, path) : valueAt(book, path);
  return options.length ? { from, options, validFor: at === "value" ? undefined : /^[\w-]*$/ } : null;
};
