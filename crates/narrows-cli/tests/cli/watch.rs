//! `narrows run --watch` in a terminal: a pseudo-terminal with a screen behind it.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use tempfile::TempDir;

/// Senders that go on for long, some of them stopped by a switch.
const SCENARIO: &str = r#"
version = 1
name = "small"
stop = { after = "1000 s" }
topology.star = { hosts = 4, rate = "10 Gb/s", delay = "1 us" }
switches.default = { buffer = { size = "1 MB", sharing = "complete" }, marking.step = { k = "30 kB" } }

[[traffic]]
name = "all"
pattern = { closed_loop = { clients = 1, sizes = { constant = "100 kB" } } }
cc = { dctcp = {} }
"#;

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// The command in a terminal of its own.
struct Session {
    screen: Arc<Mutex<vt100::Parser>>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    _terminal: Box<dyn MasterPty + Send>,
    place: TempDir,
}

impl Session {
    fn start(arguments: &[&str]) -> Self {
        Self::watch(&[&["run", "small.toml", "--watch"], arguments].concat())
    }

    fn watch(arguments: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("small.toml"), SCENARIO).unwrap();
        // Rows for what a watched run leaves behind: remarks and its summary.
        let size = PtySize { rows: 40, cols: 80, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_narrows"));
        command.args(arguments);
        command.cwd(place.path());
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let [rows, columns] = [size.rows, size.cols].map(|size| size.try_into().unwrap());
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let (shown, mut output) = (Arc::clone(&screen), pair.master.try_clone_reader().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..read]);
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Self { screen, keys, child, _terminal: pair.master, place }
    }

    fn picture(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until a picture is as asked for.
    fn until(&self, is_it: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let picture = self.picture();
            if is_it(&picture) {
                return picture;
            }
            assert!(began.elapsed() < PATIENCE, "still: {picture}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn shows(&self, text: &str) -> String {
        self.until(|picture| picture.contains(text))
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end. The terminal has to be as it was.
    fn ended(mut self) -> (u32, String, TempDir) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < PATIENCE, "still: {}", self.picture());
            std::thread::sleep(Duration::from_millis(20));
        };
        self.until(|_| !self.screen.lock().unwrap().screen().alternate_screen());
        let screen = self.screen.lock().unwrap();
        assert!(!screen.screen().hide_cursor(), "the cursor is hidden");
        let picture = screen.screen().contents();
        drop(screen);
        (status.exit_code(), picture, self.place)
    }
}

fn summary(place: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(place.join("out/small/run.json")).unwrap()).unwrap()
}

/// Simulated time, as the head shows it: " 1.23 ms of 1.00 ks [...".
fn time_of(picture: &str) -> String {
    picture.lines().nth(1).unwrap_or_default().split(" of ").next().unwrap_or_default().to_owned()
}

#[test]
fn a_run_is_watched_paused_resumed_and_ended_early_with_its_results() {
    let mut session = Session::start(&[]);
    session.until(|picture| picture.contains("running") && picture.contains("switch→host"));
    session.press("3");
    session.shows("p99 FCT");
    session.press(" ");
    session.shows("PAUSED");
    // What is shown last is where the run stands.
    std::thread::sleep(Duration::from_millis(700));
    let paused = time_of(&session.picture());
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(time_of(&session.picture()), paused);
    session.press(" ");
    session.until(|picture| picture.contains("running") && time_of(picture) != paused);
    session.press("q");
    let (code, picture, place) = session.ended();
    assert_eq!(code, 130, "{picture}");
    let summary = summary(place.path());
    assert_eq!(summary["complete"], false);
    assert!(summary["ended_ps"].as_u64().unwrap() < 1_000_000_000_000_000);
    for file in ["flows.parquet", "report.html", "scenario.toml"] {
        assert!(place.path().join("out/small").join(file).is_file(), "{file}");
    }
    assert!(picture.contains("wrote out/small/"), "{picture}");
}

#[test]
fn a_run_that_is_paused_can_be_ended() {
    let mut session = Session::start(&[]);
    session.shows("running");
    session.press(" ");
    session.shows("PAUSED");
    session.press("\u{3}");
    let (code, _, place) = session.ended();
    assert_eq!((code, &summary(place.path())["complete"]), (130, &false.into()));
}

#[test]
fn a_live_run_is_watched_and_goes_on_by_the_clock() {
    if !super::live::is_allowed(&tempfile::tempdir().unwrap()) {
        return;
    }
    let settings =
        ["topology.star.rate='10 Mb/s'", "traffic.all.cc={ cubic = {} }", "switches.default.marking='off'"];
    let settings = settings.iter().flat_map(|setting| ["--set", *setting]);
    let program = "host1: sleep 1234";
    let arguments = ["live", "small.toml", "--watch", "--run", program, "--out", "out/small"].into_iter();
    let mut session = Session::watch(&arguments.chain(settings).collect::<Vec<_>>());
    session.until(|picture| picture.contains("running") && picture.contains("switch→host"));
    let picture = session.shows("by the clock");
    assert!(!picture.contains("pause"), "{picture}");
    session.press(" <");
    let begun = time_of(&session.picture());
    session.until(|picture| time_of(picture) != begun && !picture.contains("PAUSED"));
    session.press("q");
    let (code, picture, place) = session.ended();
    assert_eq!((code, &summary(place.path())["complete"]), (130, &false.into()), "{picture}");
}

#[test]
fn a_signal_ends_the_run_gives_the_terminal_back_and_keeps_results() {
    let session = Session::start(&["--threads", "2"]);
    session.shows("running");
    let process = session.child.process_id().unwrap().to_string();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    let (code, picture, place) = session.ended();
    assert_eq!((code, &summary(place.path())["complete"]), (130, &false.into()));
    assert!(picture.contains("stopping; what there is will be written"), "{picture}");
}

#[test]
fn a_run_that_is_over_stays_until_somebody_leaves_it() {
    let mut session = Session::start(&["--set", "stop.after='1 ms'", "--seeds", "3", "--jobs", "2"]);
    session.shows("finished, results are written");
    session.shows("0 running, 0 waiting, 3 over");
    for folder in ["seed-1", "seed-2", "seed-3"] {
        assert!(session.place.path().join("out/small").join(folder).join("run.json").is_file(), "{folder}");
    }
    session.press("q");
    let (code, picture, _) = session.ended();
    assert_eq!(code, 0, "{picture}");
    assert!(picture.contains("wrote out/small/"), "{picture}");
}
