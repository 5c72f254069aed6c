use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph};

use super::View;
use crate::watch::state::Pace;

const KEYS: [(&str, &str); 11] = [
    ("space", "pause, go on"),
    ("q, Ctrl-C", "end early; results so far are written, marked as incomplete"),
    ("", "a second time: end at once, nothing is written"),
    ("1 to 4, tab", "choose a panel"),
    ("up, down", "scroll; also page up, page down, home, end"),
    ("s", "sort by what is new, by what there was so far, or as listed"),
    ("+  -", "draw less often, more often"),
    ("<  >", "limit simulated time per second: slower, faster"),
    ("f", "as fast as possible"),
    ("n  p", "next run, previous run, if there are several seeds"),
    ("?", "this page"),
];

const WORDS: [&str; 6] = [
    "",
    "kB, now, new: since the last picture. b/s, per ms: in simulated time.",
    "P: stopped by its neighbor. I: has a queue for isolated flows.",
    "before: the most that waited, by picture, the newest on the right.",
    "done, FCT: all complete flows, whether in the measured time or not.",
    "B: bytes so far; with framing on links, payload in traffic.",
];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, view: &View<'_>) {
    let block = Block::new().borders(Borders::ALL).border_set(view.theme.borders()).title(" Help ");
    let by_clock = view.state.pace == Pace::Clock;
    let works = |(key, _): &&(&str, &str)| !(by_clock && ["space", "<  >", "f"].contains(key));
    let keys = KEYS.iter().filter(works).map(|(key, what)| Line::from(format!(" {key:<12} {what}")));
    let words = WORDS.iter().map(|words| Line::from(format!(" {words}")));
    frame.render_widget(Paragraph::new(keys.chain(words).collect::<Vec<_>>()).block(block), area);
}
