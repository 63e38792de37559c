//! Indices into the tables of a world: a type each, so that none is taken for another, and the tables.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// Rows that are looked up by an index of their own type.
pub struct Table<I, T> {
    rows: Vec<T>,
    index: PhantomData<I>,
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Self { rows: Vec::new(), index: PhantomData }
    }
}

impl<I, T> FromIterator<T> for Table<I, T> {
    fn from_iter<R: IntoIterator<Item = T>>(rows: R) -> Self {
        Self { rows: rows.into_iter().collect(), index: PhantomData }
    }
}

impl<I: From<usize>, T> Table<I, T> {
    /// An empty one with room for `count` rows. Room that is never used takes addresses and no memory; where there are not so
    /// many, the table moves as it grows.
    pub fn with_room(count: usize) -> Self {
        let mut table = Self::default();
        let _ = table.rows.try_reserve_exact(count);
        table
    }

    /// Put `row` into a slot that is free, or behind the last; where it stands.
    pub fn place(&mut self, free: Option<I>, row: T) -> I
    where
        I: Copy + Into<usize>,
    {
        match free {
            Some(slot) => {
                self[slot] = row;
                slot
            }
            None => {
                self.rows.push(row);
                I::from(self.rows.len() - 1)
            }
        }
    }
}

impl<I: Into<usize>, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, index: I) -> &T {
        &self.rows[index.into()]
    }
}

impl<I: Into<usize>, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.rows[index.into()]
    }
}

impl<I, T> Deref for Table<I, T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.rows
    }
}

impl<I, T> DerefMut for Table<I, T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.rows
    }
}

/// An index with a type of its own, and [`NONE`](PipeId::NONE) for one that points nowhere.
macro_rules! index {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// An index that points nowhere.
            pub const NONE: Self = Self(u32::MAX);
        }

        impl From<usize> for $name {
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table has fewer than 2^32 rows"))
            }
        }

        impl From<$name> for u64 {
            fn from(index: $name) -> Self {
                index.0.into()
            }
        }

        impl From<$name> for usize {
            #[inline]
            fn from(index: $name) -> Self {
                index.0 as usize
            }
        }
    };
}

index! {
    /// A machine: relays come first, then clients, then servers.
    HostId
}
index! {
    /// One direction of a connection.
    PipeId
}
index! {
    /// A client, from 0.
    ClientId
}
index! {
    /// A server, from 0.
    ServerId
}
index! {
    /// A circuit.
    CircuitId
}
index! {
    /// A stream on a circuit, as the exit sees it.
    EdgeId
}
index! {
    /// What a client wants.
    DownloadId
}
index! {
    /// The cells of a circuit at one relay in one direction.
    QueueId
}

impl PipeId {
    /// The other direction of the same connection.
    #[inline]
    pub fn twin(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// The direction of the connection that was made first.
    #[inline]
    pub fn first(self) -> Self {
        Self(self.0 & !1)
    }
}

/// Circuit queues of one circuit: towards the client at guard, middle and exit; towards the exit at guard and
/// middle.
pub const QUEUES: u32 = 5;
/// Which of them holds cells towards the client at the exit.
pub const EXIT_QUEUE: u32 = 2;

impl QueueId {
    /// Queue number `place` of `circuit`.
    #[inline]
    pub fn of(circuit: CircuitId, place: u32) -> Self {
        Self(circuit.0 * QUEUES + place)
    }

    /// The circuit whose cells it holds.
    #[inline]
    pub fn circuit(self) -> CircuitId {
        CircuitId(self.0 / QUEUES)
    }

    /// Whether it holds cells towards the client at the exit.
    #[inline]
    pub fn is_exit_queue(self) -> bool {
        self.0 % QUEUES == EXIT_QUEUE
    }
}
