// A browser with the built page open.
import { existsSync } from "node:fs";
import puppeteer from "puppeteer-core";
import { serve } from "./serve.mjs";

export const FOLDER = process.env.NARROWS_PLAYGROUND;

const PROGRAMS = {
  chrome: ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"],
  firefox: ["/usr/bin/firefox-esr", "/usr/bin/firefox"],
};

/** The installed program of an engine, if there is one. */
export const installed = (browser) => PROGRAMS[browser].find((path) => existsSync(path));

export const launch = (browser) => puppeteer.launch({
  browser, executablePath: installed(browser), headless: true,
  args: browser === "chrome" ? ["--no-sandbox", "--disable-gpu"] : [],
});

/** A server and a page whose errors and requests are written down. */
export const laboratory = async (browser, { width = 1300, height = 900, dark = false } = {}) => {
  const server = await serve(FOLDER);
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport({ width, height });
  if (dark) await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  const errors = [], elsewhere = [];
  page.on("console", (message) => { if (message.type() === "error") errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(server.address) && !url.startsWith("data:") && !url.startsWith("blob:")) elsewhere.push(url);
  });
  const open = (fragment = "") => page.goto(server.address + fragment);
  const plotted = (what, timeout = 60_000) => page.waitForFunction((wanted) => document.body.dataset.plotted === wanted || (wanted === "live" && document.body.dataset.plotted), { timeout }, what);
  const end = async () => {
    await context.close();
    server.end();
  };
  return { page, server, errors, elsewhere, open, plotted, end };
};
