//! Frames that are in the fabric, by number of their segments.

use std::collections::VecDeque;

use crate::segments::{Cut, MOST, Offload};

/// A frame of which segments are in the fabric.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) offload: Offload,
    pub(crate) cut: Cut,
    pub(crate) bytes: Vec<u8>,
    /// Segments in the fabric.
    left: u32,
}

/// A segment: number of its frame, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) frame: u64,
    pub(crate) segment: u32,
}

impl Piece {
    /// As the fabric numbers its packets.
    pub(crate) fn number(self) -> u64 {
        self.frame * u64::from(MOST) + u64::from(self.segment)
    }

    pub(crate) fn of(number: u64) -> Self {
        Self { frame: number / u64::from(MOST), segment: (number % u64::from(MOST)) as u32 }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Number of the first.
    first: u64,
    /// None have left.
    frames: VecDeque<Option<Frame>>,
    spare: Vec<Vec<u8>>,
}

impl Held {
    /// A frame enters. Returns its number.
    pub(crate) fn add(&mut self, offload: Offload, cut: Cut, bytes: &[u8]) -> u64 {
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(bytes);
        self.frames.push_back(Some(Frame { offload, cut, bytes: copy, left: cut.count }));
        self.first + self.frames.len() as u64 - 1
    }

    /// A frame of which something is in the fabric.
    pub(crate) fn get_mut(&mut self, frame: u64) -> Option<&mut Frame> {
        let place = frame.checked_sub(self.first)?;
        self.frames.get_mut(place as usize)?.as_mut()
    }

    /// Segments of a frame have left.
    pub(crate) fn release(&mut self, frame: u64, segments: u32) {
        let Some(held) = self.get_mut(frame) else { return };
        held.left = held.left.saturating_sub(segments);
        if held.left > 0 {
            return;
        }
        let held = self.frames[(frame - self.first) as usize].take();
        self.spare.extend(held.map(|held| held.bytes));
        while let Some(None) = self.frames.front() {
            self.frames.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_there_until_all_of_its_segments_have_left() {
        let mut held = Held::default();
        let lone = Cut::of(Offload::default(), &[7; 60]).expect("it is sound");
        let mut three = lone;
        three.count = 3;
        let numbers = [three, lone].map(|cut| held.add(Offload::default(), cut, &[1]));
        assert_eq!(numbers, [0, 1]);
        held.release(0, 2);
        held.release(1, 1);
        assert!(held.get_mut(0).is_some() && held.get_mut(1).is_none());
        held.release(0, 1);
        assert!(held.get_mut(0).is_none() && held.frames.is_empty());
        assert_eq!(held.add(Offload::default(), lone, &[9]), 2);
        assert_eq!(held.get_mut(2).map(|frame| frame.bytes.clone()), Some(vec![9]));
    }

    #[test]
    fn segments_of_frames_have_numbers_of_their_own() {
        for (frame, segment) in [(0, 0), (0, MOST - 1), (1, 0), (9, 7)] {
            assert_eq!(Piece::of(Piece { frame, segment }.number()), Piece { frame, segment });
        }
    }
}
