//! Lists of events that share their memory.
//!
//! A list takes a block at a time and gives all of them back, so that memory follows the number of events that wait, and
//! not the longest that each list has been.

use crate::counts::narrow;

/// Events in a block: eight lines of cache.
const BLOCK_EVENTS: usize = 32;
/// No block.
const NO_BLOCK: u32 = u32::MAX;

/// Some events of a list.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block<T>([T; BLOCK_EVENTS]);

/// Events in the order in which they came, in blocks of which all but the last are full.
pub struct List {
    first: u32,
    last: u32,
    count: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { first: NO_BLOCK, last: NO_BLOCK, count: 0 }
    }
}

impl List {
    /// Events in it.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }
}

/// The blocks of all lists. The one that was given back last is taken first, so that the queue stays in the nearest caches.
pub struct Blocks<T> {
    blocks: Vec<Block<T>>,
    /// For each block: the block after it in its list, or the next free one.
    next: Vec<u32>,
    free: u32,
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), next: Vec::new(), free: NO_BLOCK }
    }
}

impl<T: Copy + Default> Blocks<T> {
    /// Append `event` to `list`.
    #[inline]
    pub fn push(&mut self, list: &mut List, event: T) {
        let place = list.len() % BLOCK_EVENTS;
        if place == 0 {
            self.lengthen(list);
        }
        self.blocks[list.last as usize].0[place] = event;
        list.count += 1;
    }

    fn lengthen(&mut self, list: &mut List) {
        let block = self.take();
        match list.first {
            NO_BLOCK => list.first = block,
            _ => self.next[list.last as usize] = block,
        }
        list.last = block;
    }

    /// A block that no list has.
    fn take(&mut self) -> u32 {
        if self.free == NO_BLOCK {
            self.blocks.push(Block([T::default(); BLOCK_EVENTS]));
            self.next.push(NO_BLOCK);
            return narrow(self.blocks.len() - 1);
        }
        let block = self.free;
        self.free = std::mem::replace(&mut self.next[block as usize], NO_BLOCK);
        block
    }

    /// The events of `list`, in parts.
    pub fn parts<'a>(&'a self, list: &List) -> impl Iterator<Item = &'a [T]> + use<'a, T> {
        let (mut block, mut left) = (list.first, list.len());
        std::iter::from_fn(move || {
            let events = self.blocks.get(block as usize)?.0.get(..left.min(BLOCK_EVENTS))?;
            left -= events.len();
            block = self.next[block as usize];
            Some(events)
        })
    }

    /// Give back the blocks of `list`.
    pub fn give_back(&mut self, list: &List) {
        if list.first != NO_BLOCK {
            self.next[list.last as usize] = self.free;
            self.free = list.first;
        }
    }

    /// Take the events of the first block out of `list`, and give that block back.
    pub fn take_part(&mut self, list: &mut List) -> Option<impl Iterator<Item = T> + use<T>> {
        let first = list.first;
        let Block(events) = *self.blocks.get(first as usize)?;
        let count = list.len().min(BLOCK_EVENTS);
        list.count -= narrow(count);
        list.first = std::mem::replace(&mut self.next[first as usize], self.free);
        self.free = first;
        Some(events.into_iter().take(count))
    }

    /// Memory that it holds, bytes.
    pub fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Block<T>>() + self.next.capacity() * size_of::<u32>()
    }
}
