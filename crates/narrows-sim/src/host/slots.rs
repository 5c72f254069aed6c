use crate::prefetch::prefetch_lines;

/// Places for things that come and go, the one that became free last is reused first.
#[derive(Clone, Debug)]
pub(crate) struct Slots<T> {
    places: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    pub(crate) fn add(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Some(thing);
            return place;
        }
        self.places.push(Some(thing));
        (self.places.len() - 1) as u32
    }

    pub(crate) fn remove(&mut self, place: u32) -> Option<T> {
        let thing = self.places[place as usize].take();
        if thing.is_some() {
            self.free.push(place);
        }
        thing
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.places.get_mut(place as usize)?.as_mut()
    }

    /// Things that are there.
    pub(crate) fn len(&self) -> u32 {
        (self.places.len() - self.free.len()) as u32
    }

    /// The most things there have been at a time.
    #[inline]
    pub(crate) fn most(&self) -> usize {
        self.places.len()
    }

    /// Prefetches the thing at `place`.
    #[inline]
    pub(crate) fn prefetch(&self, place: u32) {
        if let Some(thing) = self.places.get(place as usize) {
            prefetch_lines(thing);
        }
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.places.iter_mut().flatten()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }
}
