//! Pages in a real browser, without any network.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Opens a page in a window of this size and returns the first `count` values that it has found. A page writes each to the console:
/// `FOUND `, and JSON in hexadecimal digits, so that it comes as one line.
pub(crate) fn found(folder: &Path, page: &Path, (width, height): (u32, u32), count: usize) -> Vec<Value> {
    let mut browser = start(folder, page, (width, height));
    let lines = BufReader::new(browser.stderr.take().expect("piped")).lines().map_while(Result::ok);
    // Without its lines the page hangs, and the test with it.
    let found = lines.filter_map(|line| Some(line.split_once("\"FOUND ")?.1.split_once('"')?.0.to_owned()));
    let found: Vec<_> = found.take(count).collect();
    browser.kill().expect("it runs");
    browser.wait().expect("it ends");
    assert_eq!(found.len(), count, "the page was used to its end");
    found.iter().map(|digits| serde_json::from_slice(&bytes(digits)).expect("JSON")).collect()
}

fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn start(folder: &Path, page: &Path, (width, height): (u32, u32)) -> Child {
    let browser = ["chromium", "chromium-browser", "google-chrome"].iter().find_map(|browser| {
        Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                "--no-first-run",
            ])
            .arg("--host-resolver-rules=MAP * ~NOTFOUND")
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("file://{}", page.display()))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .ok()
    });
    browser.expect("Chromium; on Debian: apt-get install chromium")
}
