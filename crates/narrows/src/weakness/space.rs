//! All paths that are searched: how one is drawn, varied, and made of two.

use std::ops::RangeInclusive;

use narrows_proto::cc::parts::SplitMix;

use super::control::Control;
use super::element::Element;
use super::gene::{Gene, LOSS, RTT};
use super::path::{BUFFER, Flow, LATEST, MANAGED_RATE, Path, Queue, RATE, RUN, THRESHOLD};

/// Most elements of a path.
const ELEMENTS: usize = 3;

/// Paths for a control.
#[derive(Clone, Debug)]
pub(super) struct Space {
    queues: &'static [Queue],
    rivals: Vec<String>,
    /// Connections under test.
    flows: RangeInclusive<usize>,
    rate: Gene,
    rtt: Gene,
}

impl Space {
    /// Those for a control with so many connections, of one rate (kb/s) or round-trip time (ms) if that is given.
    pub(super) fn new(
        control: &Control,
        flows: RangeInclusive<usize>,
        [rate, rtt]: [Option<u32>; 2],
    ) -> Self {
        let fixed = |value: Option<u32>, gene| value.map_or(gene, |value| Gene::new(value, value));
        let (rate, rtt) = (fixed(rate, RATE), fixed(rtt, RTT));
        Self { queues: control.queues(), rivals: control.rivals(), flows, rate, rtt }
    }

    /// Any of them.
    pub(super) fn draw(&self, random: &mut SplitMix) -> Path {
        let flows =
            self.flows.start() + random.below((self.flows.end() - self.flows.start() + 1) as u64) as usize;
        let [rate, buffer] = [self.rate, BUFFER].map(|gene| gene.draw(random));
        let tested = (0..flows).map(|_| self.flow(random)).collect();
        let elements = random.below(ELEMENTS as u64) as usize;
        let (loss, run) = if random.coin() { Self::loss(random) } else { (0, 1) };
        let queue = self.queue(random);
        let elements = (0..elements).map(|_| Element::draw(&self.rivals, random)).collect();
        self.kept(Path { rate, buffer, loss, run, queue, tested, elements })
    }

    /// One near it: one or two of its parts are other ones.
    pub(super) fn vary(&self, path: &Path, random: &mut SplitMix) -> Path {
        let mut path = path.clone();
        for _ in 0..=random.below(2) {
            self.change(&mut path, random);
        }
        self.kept(path)
    }

    /// One that has each part of either.
    pub(super) fn cross(&self, one: &Path, other: &Path, random: &mut SplitMix) -> Path {
        let mut path = one.clone();
        if random.coin() {
            path.rate = other.rate;
        }
        if random.coin() {
            path.buffer = other.buffer;
        }
        if random.coin() {
            (path.loss, path.run) = (other.loss, other.run);
        }
        if random.coin() {
            path.queue = other.queue;
        }
        if random.coin() {
            path.tested.clone_from(&other.tested);
        }
        path.elements.extend(other.elements.iter().cloned());
        path.elements.retain(|_| random.coin());
        self.kept(path)
    }

    /// A queue without management, or with the management that it has where there has to be some.
    pub(super) fn simplest_queue(&self, queue: Queue) -> Queue {
        if self.queues.contains(&Queue::DropTail) { Queue::DropTail } else { queue }
    }

    /// Fewest connections under test.
    pub(super) fn fewest_flows(&self) -> usize {
        *self.flows.start()
    }

    fn change(&self, path: &mut Path, random: &mut SplitMix) {
        let elements = path.elements.len() as u64;
        match random.below(8) {
            0 => path.rate = self.rate.vary(path.rate, random),
            1 => path.buffer = BUFFER.vary(path.buffer, random),
            2 if path.loss == 0 => (path.loss, path.run) = Self::loss(random),
            2 => match random.below(4) {
                0 => (path.loss, path.run) = (0, 1),
                1 => path.run = if path.run > 1 { 1 } else { RUN.draw(random) },
                2 if path.run > 1 => path.run = RUN.vary(path.run, random),
                _ => path.loss = LOSS.vary(path.loss, random),
            },
            3 => path.queue = self.queue(random),
            4 => self.change_flows(&mut path.tested, random),
            5 if elements > 0 => _ = path.elements.remove(random.below(elements) as usize),
            6 if elements > 0 => path.elements[random.below(elements) as usize].vary(&self.rivals, random),
            _ => path.elements.push(Element::draw(&self.rivals, random)),
        }
    }

    fn change_flows(&self, flows: &mut Vec<Flow>, random: &mut SplitMix) {
        let one = random.below(flows.len() as u64) as usize;
        match random.below(4) {
            0 => flows[one].start = start(random),
            1 if flows.len() < *self.flows.end() => flows.push(self.flow(random)),
            2 if flows.len() > *self.flows.start() => _ = flows.remove(one),
            _ => flows[one].rtt = self.rtt.vary(flows[one].rtt, random),
        }
    }

    fn flow(&self, random: &mut SplitMix) -> Flow {
        let start = if random.coin() { 0 } else { start(random) };
        Flow { rtt: self.rtt.draw(random), start }
    }

    /// Losses, and how many of them come in a row.
    fn loss(random: &mut SplitMix) -> (u32, u32) {
        (LOSS.draw(random), if random.coin() { 1 } else { RUN.draw(random) })
    }

    fn queue(&self, random: &mut SplitMix) -> Queue {
        match self.queues[random.below(self.queues.len() as u64) as usize] {
            Queue::Step(_) => Queue::Step(THRESHOLD.draw(random)),
            queue => queue,
        }
    }

    /// The path inside the bounds.
    pub(super) fn kept(&self, mut path: Path) -> Path {
        path.rate = self.rate.clamp(path.rate);
        path.buffer = BUFFER.clamp(path.buffer);
        path.elements.truncate(ELEMENTS);
        for flow in &mut path.tested {
            flow.rtt = self.rtt.clamp(flow.rtt);
        }
        if path.queue.is_managed() && path.rate < MANAGED_RATE {
            // A rate that is fixed stays.
            path.rate = self.rate.clamp(MANAGED_RATE);
        }
        for element in &mut path.elements {
            element.keep(path.rate);
        }
        if let Queue::Step(threshold) = &mut path.queue {
            *threshold = THRESHOLD.clamp(*threshold).min(path.buffer / 2).max(1);
        }
        path
    }
}

fn start(random: &mut SplitMix) -> u32 {
    random.below(u64::from(LATEST) + 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_numbers_make_the_same_paths() {
        let space = Space::new(&Control::find("bbr3").unwrap(), 1..=1, [None; 2]);
        let paths = || {
            let mut random = SplitMix::new(7);
            let first = space.draw(&mut random);
            let other = space.draw(&mut random);
            [space.vary(&first, &mut random), space.cross(&first, &other, &mut random)]
        };
        assert_eq!(paths(), paths());
    }

    #[test]
    fn all_paths_are_inside_the_bounds() {
        for (control, flows) in [("bbr3", 1..=1), ("cubic", 2..=4), ("dctcp", 1..=1)] {
            let space = Space::new(&Control::find(control).unwrap(), flows.clone(), [None; 2]);
            let mut random = SplitMix::new(3);
            let mut path = space.draw(&mut random);
            for _ in 0..2_000 {
                let other = space.draw(&mut random);
                path = space.vary(&space.cross(&path, &other, &mut random), &mut random);
                assert!(flows.contains(&path.tested.len()) && path.elements.len() <= ELEMENTS, "{path}");
                assert!((RATE.least..=RATE.most).contains(&path.rate), "{path}");
                assert!(!path.queue.is_managed() || path.rate >= MANAGED_RATE, "{path}");
                assert_eq!(space.kept(path.clone()), path);
            }
        }
    }

    #[test]
    fn what_is_given_is_the_same_on_all_paths() {
        let space = Space::new(&Control::find("reno").unwrap(), 1..=1, [Some(50_000), Some(40)]);
        let mut random = SplitMix::new(3);
        for _ in 0..100 {
            let path = space.draw(&mut random);
            let path = space.vary(&path, &mut random);
            assert_eq!((path.rate, path.tested[0].rtt), (50_000, 40));
        }
    }
}
