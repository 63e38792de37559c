//! A first-in-first-out queue that keeps its first element in place.
//!
//! Most queues of a large network hold one element or none, and then all of it lies where its owner lies:
//! no pointer to follow, no second line of cache. What comes after the first lies elsewhere.

use std::collections::VecDeque;

/// A queue; whenever there is a rest, there is a first.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    first: Option<T>,
    #[expect(clippy::box_collection, reason = "an owner pays one pointer for a rest that it seldom has")]
    rest: Option<Box<VecDeque<T>>>,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { first: None, rest: None }
    }
}

impl<T> Fifo<T> {
    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The element that leaves next.
    pub fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The same, to be changed.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.first.as_mut()
    }

    /// The element that came last.
    pub fn back_mut(&mut self) -> Option<&mut T> {
        match &mut self.rest {
            Some(rest) if !rest.is_empty() => rest.back_mut(),
            _ => self.first.as_mut(),
        }
    }

    /// Append an element.
    pub fn push(&mut self, element: T) {
        if self.first.is_none() {
            self.first = Some(element);
        } else {
            self.rest.get_or_insert_default().push_back(element);
        }
    }

    /// Take the first element out.
    pub fn pop(&mut self) -> Option<T> {
        let next = self.rest.as_mut().and_then(|rest| rest.pop_front());
        std::mem::replace(&mut self.first, next)
    }

    /// The elements, first to last.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
                    None => prop_assert_eq!(fifo.pop(), plain.pop_front()),
                }
                prop_assert_eq!(fifo.front(), plain.front());
                prop_assert_eq!(fifo.back_mut(), plain.back_mut());
                prop_assert_eq!(fifo.is_empty(), plain.is_empty());
                prop_assert!(fifo.iter().eq(plain.iter()));
            }
        }
    }
}
