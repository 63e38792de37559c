//! A first-in-first-out queue that keeps its first element in place.
//!
//! Most queues of a large network hold one element or none, and then all of it lies where its owner lies:
//! no pointer to follow, no second line of cache. What comes after the first lies in a ring elsewhere.

/// Places of the smallest ring; a power of two.
const PLACES_MIN: usize = 4;

/// A queue.
#[derive(Clone, Debug, Default)]
pub struct Fifo<T> {
    /// The first element, if there is one.
    first: T,
    /// What comes after it, from place `start` on. A power of two places, or none.
    ring: Box<[T]>,
    start: u32,
    /// All elements.
    count: u32,
}

impl<T: Copy + Default> Fifo<T> {
    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of elements.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// The element that leaves next.
    pub fn front(&self) -> Option<&T> {
        (self.count > 0).then_some(&self.first)
    }

    /// The element that leaves next, to be changed.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        (self.count > 0).then_some(&mut self.first)
    }

    /// The element that came last.
    pub fn back_mut(&mut self) -> Option<&mut T> {
        match self.count {
            0 | 1 => self.front_mut(),
            count => Some(&mut self.ring[self.place(count - 1)]),
        }
    }

    /// The element behind the first, which does not lie in place.
    pub fn second(&self) -> Option<&T> {
        (self.count > 1).then(|| &self.ring[self.start as usize])
    }

    /// Memory that it holds beside itself, bytes.
    pub fn bytes_elsewhere(&self) -> usize {
        size_of_val(&*self.ring)
    }

    /// Give back the ring, if nothing lies in it.
    pub fn trim(&mut self) {
        if self.count <= 1 {
            (self.ring, self.start) = (Box::default(), 0);
        }
    }

    /// Append an element.
    #[inline]
    pub fn push(&mut self, element: T) {
        if self.count == 0 {
            self.first = element;
        } else {
            if self.count as usize > self.ring.len() {
                self.grow();
            }
            let place = self.place(self.count);
            self.ring[place] = element;
        }
        self.count += 1;
    }

    /// Take the first element out.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.front().copied()?;
        self.count -= 1;
        if self.count > 0 {
            self.first = self.ring[self.start as usize];
            // An empty ring begins at its first place again: a queue that is short most of the time stays in one line
            // of cache, however long it once was.
            let next = if self.count == 1 { 0 } else { self.place(2) };
            self.start = u32::try_from(next).expect("a ring has fewer than 2^32 places");
        }
        Some(first)
    }

    /// Where element `number`, which is not the first, lies.
    fn place(&self, number: u32) -> usize {
        (self.start as usize + number as usize - 1) & (self.ring.len() - 1)
    }

    /// A ring of twice as many places.
    fn grow(&mut self) {
        let places = PLACES_MIN.max(2 * self.ring.len());
        let mut ring = Vec::with_capacity(places);
        ring.extend((1..self.count).map(|number| self.ring[self.place(number)]));
        ring.resize(places, T::default());
        self.ring = ring.into_boxed_slice();
        self.start = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn behaves_as_a_plain_queue(pushes in prop::collection::vec(any::<Option<u8>>(), 0..100)) {
            let (mut fifo, mut plain) = (Fifo::default(), VecDeque::new());
            for push in pushes {
                match push {
                    Some(element) => {
                        fifo.push(element);
                        plain.push_back(element);
                    }
                    None => {
                        prop_assert_eq!(fifo.pop(), plain.pop_front());
                        fifo.trim();
                        prop_assert!(plain.len() > 1 || fifo.bytes_elsewhere() == 0);
                    }
                }
                prop_assert_eq!(fifo.front(), plain.front());
                prop_assert_eq!(fifo.back_mut(), plain.back_mut());
                prop_assert_eq!(fifo.is_empty(), plain.is_empty());
                prop_assert_eq!(fifo.second(), plain.get(1));
            }
        }
    }
}
