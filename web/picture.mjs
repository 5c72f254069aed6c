// Takes a picture of the built page after a run: node picture.mjs FILE. NARROWS_PLAYGROUND names the folder of the page.
import { laboratory, launch } from "./test/support/browser.mjs";

const [file] = process.argv.slice(2);
const browser = await launch("chrome");
const lab = await laboratory(browser, { width: 1300, height: 800 });
try {
  await lab.open("#lesson=annulus-loop");
  await lab.plotted("report");
  await lab.page.screenshot({ path: file });
} finally {
  await lab.end();
  await browser.close();
}
if (lab.errors.length) throw new Error(lab.errors.join("\n"));
