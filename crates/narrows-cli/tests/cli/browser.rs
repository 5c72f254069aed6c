//! Reports in a real browser, without any network. Needs Chromium: `cargo xtask viewers`.

use std::path::Path;

use serde_json::Value;

use crate::chromium::found;
use crate::support::text;

/// Collects what goes wrong, before anything else runs.
const WATCH: &str = r#"<script>
window.wrong = [];
for (const kind of ["error", "warn"]) console[kind] = (...texts) => window.wrong.push(`${kind}: ${texts.join(" ")}`);
addEventListener("error", (event) => window.wrong.push(`error: ${event.message || event.target?.src}`), true);
addEventListener("unhandledrejection", (event) => window.wrong.push(`rejection: ${event.reason}`));
addEventListener("securitypolicyviolation", (event) => window.wrong.push(`refused: ${event.blockedURI}`));
</script>"#;

/// Uses the page as a reader would, and writes down what happened.
const USE: &str = r##"<script>
(async () => {
  const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const drawn = async () => { for (let turn = 0; turn < 200 && !document.body.dataset.drawn; turn += 1) await pause(20); await pause(100); };
  const found = {};
  try {
    await drawn();
    const all = (what, root = document) => [...root.querySelectorAll(what)];
    found.drawn = document.body.dataset.drawn;
    found.loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
    const picture = () => all("canvas.drawn").map((canvas) => canvas.toDataURL()).join();
    const slider = document.querySelector("input[type=range]");
    const readout = () => document.querySelector(".readout").textContent;
    const move = async (value) => { slider.value = value; slider.dispatchEvent(new Event("input")); await pause(120); };
    await move(0);
    const [before, said] = [picture(), readout()];
    await move(Number(slider.max) / 2 | 0);
    found.sliderMovesThePicture = picture() !== before;
    found.sliderTellsTheMoment = readout() !== said && slider.getAttribute("aria-valuetext").endsWith("ms");
    const play = all("button").find((button) => button.textContent.includes("Play"));
    const from = Number(slider.value);
    play.click();
    await pause(900);
    found.playGoesOn = Number(slider.value) > from;
    play.click();
    await pause(60);
    const stopped = slider.value;
    await pause(300);
    found.pauseHolds = slider.value === stopped;
    // What is saved.
    const saved = [];
    URL.createObjectURL = (blob) => { saved.push(blob); return "blob:none"; };
    HTMLAnchorElement.prototype.click = () => {};
    for (const button of all(".saves button")) button.click();
    await pause(1500);
    const texts = await Promise.all(saved.map(async (blob) => [blob.type, blob.type === "image/png" ? "" : await blob.text(), blob.size]));
    const svgs = texts.filter(([type]) => type === "image/svg+xml");
    found.svgs = svgs.length;
    found.brokenSvgs = svgs.filter(([, text]) => new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror") || /NaN|undefined/.test(text.replaceAll(/href="[^"]*"/g, ""))).map(([, text]) => text.slice(0, 300));
    found.pngs = texts.filter(([type, , size]) => type === "image/png" && size > 500).length;
    found.csvs = texts.filter(([type, text]) => type === "text/csv" && text.includes("\r\n")).length;
    found.tables = all("table").filter((table) => !table.closest(".uplot")).length;
    // Whoever cannot see, or has no mouse.
    const named = (node) => (node.getAttribute("aria-label") || node.textContent).trim().length > 0;
    found.nameless = all("button, select, input, [role=img], [role=region]").filter((node) => !named(node)).length;
    found.pictures = all("[role=img]").length;
    const links = all(".top a");
    found.places = links.map((link) => link.textContent);
    found.deadLinks = links.filter((link) => !document.getElementById(link.hash.slice(1))).map((link) => link.hash);
    found.numbers = NUMBERS.map((value) => number(value).replaceAll("\u202f", " "));
    found.counted = [0, 1, 31].map((count) => counted(count, "drop"));
    found.language = document.documentElement.lang;
    found.headings = all("h1").length;
    found.unreachable = all("button, select, input, canvas.drawn").filter((node) => node.tabIndex < 0).length;
    found.onTop = all("h3").some((heading) => heading.textContent === "On top of each other");
    // Light and dark.
    const paper = () => getComputedStyle(document.documentElement).backgroundColor;
    const light = paper();
    all("button").find((button) => button.textContent === "Light / dark").click();
    found.themes = light !== paper();
    found.tooWide = document.documentElement.scrollWidth - innerWidth;
    // Another run.
    const choice = document.querySelector("select[aria-label=Run]");
    if (choice) {
      delete document.body.dataset.drawn;
      choice.value = 1;
      choice.dispatchEvent(new Event("change"));
      await drawn();
      found.other = document.body.dataset.drawn;
    }
    // From the table of slow flows to their time.
    const show = all("button").find((button) => button.textContent === "show");
    if (show) {
      const whole = picture();
      show.click();
      await pause(200);
      found.jumps = picture() !== whole;
    }
  } catch (error) {
    window.wrong.push(`use: ${error.stack}`);
  }
  found.wrong = window.wrong;
  const bytes = new TextEncoder().encode(JSON.stringify(found));
  console.log("FOUND " + [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
})();
</script>"##;

/// Numbers that the page rounds by itself, as the terminal does.
const NUMBERS: [f64; 12] =
    [0.0, 1.0, 31.0, 0.001_234_56, 12.345_6, 0.1 + 0.2, 999.4, 1234.5, 1_234_567.8, -20_000.0, 1.5e-7, 2e18];

fn narrows(folder: &Path, arguments: &[&str]) {
    let output = crate::support::narrows(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
}

/// Opens a page in a window of this width, uses it, and returns what was found.
fn used(folder: &Path, page: &Path, width: u32) -> Value {
    let html = std::fs::read_to_string(page).expect("a page");
    let html = html.replacen("<meta charset", &format!("{WATCH}<meta charset"), 1);
    let script = USE.replace("NUMBERS", &serde_json::json!(NUMBERS).to_string());
    let html = html.replace("</body>", &format!("{script}</body>"));
    let path = folder.join("used.html");
    std::fs::write(&path, html).expect("space");
    found(folder, &path, (width, 900), 1).remove(0)
}

fn check(found: &Value, cells: &[&str]) {
    let flag = |name: &str| assert_eq!(found[name], true, "{name}: {found}");
    assert_eq!(found["wrong"], serde_json::json!([]), "something went wrong");
    assert_eq!(found["loaded"], serde_json::json!([]), "something was loaded");
    assert_eq!(found["drawn"], cells[0]);
    ["sliderMovesThePicture", "sliderTellsTheMoment", "playGoesOn", "pauseHolds", "themes", "jumps"]
        .into_iter()
        .for_each(flag);
    assert_eq!(found["brokenSvgs"], serde_json::json!([]));
    let count = |name: &str| found[name].as_u64().unwrap_or(0);
    assert!(count("svgs") >= 5 && count("pngs") == count("svgs"), "{found}");
    assert!(count("csvs") >= count("tables") && count("tables") >= 4, "{found}");
    assert_eq!((count("nameless"), count("unreachable"), count("headings")), (0, 0, 1), "{found}");
    assert_eq!(found["language"], "en");
    assert_eq!(
        found["onTop"],
        cells.len() == 2,
        "curves of two runs are drawn on top of each other: {found}"
    );
    assert_eq!(found["deadLinks"], serde_json::json!([]));
    assert!(found["places"].as_array().is_some_and(|places| places.contains(&"The tail".into())), "{found}");
    assert_eq!(found["numbers"], serde_json::json!(NUMBERS.map(narrows::numbers::number)));
    assert_eq!(found["counted"], serde_json::json!(["0 drops", "1 drop", "31 drops"]));
    assert!(
        found["tooWide"].as_i64().is_some_and(|pixels| pixels <= 0),
        "the page is wider than its window: {found}"
    );
    if let Some(other) = cells.get(1) {
        assert_eq!(found["other"], *other);
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask viewers"]
fn a_report_works_without_a_network_by_mouse_and_by_keyboard() {
    let place = tempfile::tempdir().expect("a place");
    narrows(place.path(), &["new", "mix", "--template", "two-dc-mix"]);
    narrows(
        place.path(),
        &["run", "mix.toml", "--set", "stop.after=40 ms", "--set", "measure.until=30 ms", "--out", "out"],
    );
    for width in [1300, 500] {
        check(&used(place.path(), &place.path().join("out/report.html"), width), &["mix"]);
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask viewers"]
fn a_comparison_shows_each_of_its_runs() {
    let place = tempfile::tempdir().expect("a place");
    narrows(place.path(), &["new", "victims", "--template", "isolation"]);
    let variant = "dvl:switches.default.isolation={ scheme = \"dvl\" }";
    narrows(
        place.path(),
        &[
            "compare",
            "victims.toml",
            "--variant",
            variant,
            "--seeds",
            "2",
            "--set",
            "stop.after=3 ms",
            "--set",
            "expect=[]",
            "--out",
            "out",
        ],
    );
    check(&used(place.path(), &place.path().join("out/report.html"), 1300), &["victims", "dvl"]);
    // The same from the folders, put together again.
    narrows(place.path(), &["report", "out", "--out", "again.html"]);
    check(&used(place.path(), &place.path().join("again.html"), 1300), &["victims", "dvl"]);
}
