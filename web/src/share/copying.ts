// Texts to copy, in a dialog: shown as well, for browsers that do not let a page use the clipboard.
import { button, element } from "../dom";

export const copyDialog = (title: string, about: string, texts: [string, string][]) => {
  const dialog = element("dialog", { "aria-label": title });
  const block = ([name, text]: [string, string]) => {
    const shown = element("textarea", { readonly: true, rows: Math.min(12, Math.ceil(text.length / 90) + text.split("\n").length), "aria-label": name }, text);
    const copy = button(`Copy ${name}`, () => {
      shown.select();
      void navigator.clipboard?.writeText(text).then(() => { copy.textContent = "Copied"; }, () => undefined);
    });
    return element("div", {}, shown, element("p", { class: "tools" }, copy));
  };
  dialog.append(element("h2", {}, title), element("p", { class: "soft" }, about), ...texts.map(block), button("Close", () => dialog.close()));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
};
