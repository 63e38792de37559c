//! cellsim: Tor at the level of cells, in simulated time.
//!
//! A run directory holds `run.json`; [`directory::run`] reads it and the network it names,
//! moves a [`world::World`] through time, and leaves tables ([`recorder`]) and a provenance behind.
//!
//! From the bottom up: [`events`] is the queue of what will happen; [`link`] and [`linux_tcp`] carry bytes,
//! [`loss`] takes some;
//! [`cells`] are what the bytes mean; [`bucket`], [`mux`] and [`vegas`] are Tor's rules as state machines
//! of their own; [`path`] chooses relays. On top of these a [`world`] of [`state`] is moved by its processes:
//! `transport` (bytes between hosts), `relay` (the event loop), `scheduler` (channels), `exit` (streams)
//! and `circuits` and `client` (downloads). Each module's header says what it leaves out and who could
//! notice.
//!
//! Time is in integer nanoseconds ([`time`]). No wall clock, no address and no hash decides anything: the same
//! `run.json` gives the same bytes.

pub mod activation;
pub mod breakdown;
pub mod bucket;
pub mod cells;
mod checks;
pub mod columns;
pub mod counts;
pub mod directory;
pub mod error;
pub mod events;
pub mod fifo;
pub mod ids;
pub mod latency;
pub mod link;
pub mod linux_tcp;
pub mod loss;
pub mod mux;
pub mod path;
pub mod provenance;
pub mod random;
pub mod recorder;
pub mod spec;
pub mod tables;
pub mod ticks;
pub mod time;
pub mod timeline;
pub mod tls;
pub mod totals;
pub mod trace;
pub mod traffic;
pub mod vegas;
pub mod world;

/// The package's version and a hash of the sources and of the libraries they are built with (`build.rs`).
pub const VERSION: &str = env!("CELLSIM_VERSION");
