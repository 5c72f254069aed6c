// Light and dark: as the system says until the button is used.

const wanted = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

export const watchTheme = (redraw: () => void) => {
  const set = (theme: string) => {
    root.dataset.theme = theme;
  };
  set(wanted.matches ? "dark" : "light");
  wanted.addEventListener("change", () => set(wanted.matches ? "dark" : "light"));
  document.getElementById("theme")?.addEventListener("click", () => set(root.dataset.theme === "dark" ? "light" : "dark"));
  new MutationObserver(redraw).observe(root, { attributeFilter: ["data-theme"] });
};
