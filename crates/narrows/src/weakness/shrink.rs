//! A worst case made simple: parts are removed and numbers rounded as long as most of the score stays.

use std::collections::HashSet;

use super::gene::rounded;
use super::judge::{Halt, Judge};
use super::path::{Flow, Path};
use super::space::Space;

/// Percent of the score that stays.
pub(super) const KEPT: u32 = 80;
/// More passes than this are not made; each leaves less to do.
const PASSES: u32 = 8;

/// The simplest path that was found with most of the score.
pub(super) fn shrink(
    judge: &Judge<'_>,
    space: &Space,
    path: &Path,
    seed: u64,
    score: u32,
) -> Result<Path, Halt> {
    let bar = (u64::from(score) * u64::from(KEPT) / 100).saturating_sub(1) as u32;
    let mut path = path.clone();
    // A pass begins with what the pass before has refused since it changed the path for the last time.
    let mut refused = HashSet::new();
    for _ in 0..PASSES {
        let before = path.clone();
        let mut number = 0;
        // A list of what is simpler than the path as it is now: its places mean the same after each change, but for those behind
        // something that was removed, which the next pass finds.
        while let Some(simple) = simpler(&path, space).into_iter().nth(number) {
            number += 1;
            if simple == path || refused.contains(&simple) {
                continue;
            }
            match judge.score(&simple, seed, bar)?.score {
                Some(_) => path = simple,
                None => _ = refused.insert(simple),
            }
        }
        if path == before {
            break;
        }
    }
    Ok(path)
}

/// Simpler paths, the simplest first. The path itself may be among them.
fn simpler(path: &Path, space: &Space) -> Vec<Path> {
    let mut all = Vec::new();
    let mut add = |change: &dyn Fn(&mut Path)| {
        let mut simple = path.clone();
        change(&mut simple);
        all.push(space.kept(simple));
    };
    for number in (0..path.elements.len()).rev() {
        add(&|path| _ = path.elements.remove(number));
    }
    add(&|path| path.queue = space.simplest_queue(path.queue));
    add(&|path| (path.loss, path.run) = (0, 1));
    add(&|path| path.run = 1);
    if path.tested.len() > space.fewest_flows() {
        for number in (0..path.tested.len()).rev() {
            add(&|path| _ = path.tested.remove(number));
        }
    }
    for number in 0..path.tested.len() {
        add(&|path| path.tested[number].start = 0);
        add(&|path| path.tested[number].rtt = path.tested[0].rtt);
    }
    for (number, element) in path.elements.iter().enumerate() {
        for simple in element.simpler(path.tested[0].rtt) {
            add(&|path| path.elements[number] = simple.clone());
        }
    }
    add(&|path| path.buffer = 100);
    add(&|path| path.buffer = rounded(path.buffer, 1));
    add(&|path| path.rate = rounded(path.rate, 1));
    add(&|path| path.loss = rounded(path.loss, 1));
    add(&|path| path.run = rounded(path.run, 1));
    add(&|path| {
        for Flow { rtt, start } in &mut path.tested {
            *rtt = rounded(*rtt, 1);
            *start = *start / 10 * 10;
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::control::Control;
    use super::super::element::{Bursts, Element, Rivals};
    use super::super::objective::Objective;
    use super::super::path::Queue;
    use super::super::path::tests::plain;
    use super::*;

    #[test]
    fn what_does_not_matter_is_removed_and_what_does_stays() {
        let control = Control::find("reno").unwrap();
        let space = Space::new(&control, 1..=1, [None; 2]);
        let judge = Judge::new(&control, Objective::Starve, &|| ControlFlow::Continue(()));
        let bursts = Element::Bursts(Bursts { percent: 11, on: 130, off: 1_700, start: 33 });
        let rivals = Element::Rivals(Rivals { control: "reno".into(), flows: 1, rtt: 47, start: 58 });
        let tested = vec![Flow { rtt: 44, start: 7 }];
        let path = Path {
            rate: 13_000,
            buffer: 170,
            loss: 3_300,
            run: 1,
            queue: Queue::Codel,
            tested,
            elements: vec![bursts, rivals],
        };
        let before = judge.score(&path, 1, 0).unwrap().score.expect("losses starve Reno");
        let small = shrink(&judge, &space, &path, 1, before).unwrap();
        let score = judge.score(&small, 1, 0).unwrap().score.expect("most of it stays");
        assert!(u64::from(score) * 100 >= u64::from(before) * u64::from(KEPT) - 100, "{score} of {before}");
        assert_eq!((&small.elements[..], small.queue, small.tested[0].start), (&[][..], Queue::DropTail, 0));
        assert_eq!((small.loss % 1_000, small.buffer), (0, 100), "{small}");
    }

    #[test]
    fn the_list_of_a_path_begins_with_fewer_parts() {
        let space = Space::new(&Control::find("reno").unwrap(), 1..=1, [None; 2]);
        let rivals = |start| Element::Rivals(Rivals { control: "reno".into(), flows: 1, rtt: 40, start });
        let path = Path { elements: vec![rivals(0), rivals(9)], ..plain() };
        let first = &simpler(&path, &space)[..2];
        assert_eq!(
            [first[0].elements[..].to_vec(), first[1].elements[..].to_vec()],
            [vec![rivals(0)], vec![rivals(9)]]
        );
    }
}
