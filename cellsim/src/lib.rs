//! cellsim: Tor at the level of cells, in simulated time.
//!
//! # What a run is
//!
//! A run directory holds `run.json`. [`directory::run`] reads it and the network it names, builds a
//! [`world::World`], moves it through time, and leaves tables ([`recorder`]) and a provenance behind. Time is in
//! integer nanoseconds ([`time`]). No wall clock, no address and no hash decides anything: the same `run.json`
//! gives the same bytes.
//!
//! # What a world is
//!
//! A world is the time, a queue of future [`events`], and tables whose rows name each other by number ([`ids`]). Its
//! parts are modules below `world`:
//!
//! - `network` has hosts and pipes. A host has an up-link and a down-link ([`link`]). A pipe is one direction of
//!   a connection: the state of TCP ([`linux_tcp`]), and the cells that its bytes mean ([`cells`]). It calls nobody:
//!   what an event of its makes possible, it answers.
//! - `relays` and `clients` use the network and know nothing of each other. `servers` have no state.
//! - `tor` is what cells refer to, and what relays and clients share: circuits, circuit queues and edges. An edge is a
//!   stream as the exit sees it; `clients` has the same stream as a download.
//!
//! [`world::World::run_until`] takes the next event and calls the function that handles it, until the time is
//! over. A handler changes rows and adds events; nothing else happens between two events. To follow a run, begin
//! there and look up the event in [`events::Event`].
//!
//! # The way of a cell
//!
//! A cell on its way to the client meets these modules below `world`, in this order:
//!
//! 1. `relays::exit`: the exit reads the server's response (`edge_read`), and `package` makes cells of it as far as the
//!    windows allow ([`vegas`], or tor's fixed windows), stream by stream ([`activation`]).
//! 2. `relays`: `enqueue` puts the cells into the circuit's queue and tells the scheduler that their channel has
//!    some.
//! 3. `relays::scheduler`: Vanilla, KIST or KISTLite choose a channel, [`mux`] chooses the circuit, and `flush` moves
//!    cells to the channel's output buffer (`relays::port`).
//! 4. `relays`: the event loop writes the buffer to TCP as far as the token bucket allows ([`bucket`]). A connection
//!    that meets an empty bucket waits for `Event::BucketWake` (`relays::waiting`).
//! 5. `network::transport`: `pump` sends what TCP's window allows, in chunks of up to 2 ms of the slower link. Each
//!    chunk comes back as `Event::Arrive`.
//! 6. `network::wire` and `network::down_link`: packets may be lost on the way ([`loss`]) or dropped by the queue before
//!    the receiver's down-link. What is left comes back as `Event::Deliver`.
//! 7. `relays` again, at the next relay: it reads under its own bucket, finds each cell's queue (`tor::queue_of`),
//!    and all begins anew from 2. At the client, `clients` counts the bytes for the download, sends SENDMEs, and
//!    in the end pauses and opens the next one.
//!
//! `clients::circuits` builds circuits ahead and closes old ones; [`path`] draws their relays. `trace` and `breakdown`
//! look on and change nothing; `prefetch` only asks for memory early; `inspect` only counts.
//!
//! # What the model leaves out
//!
//! The header of each module says what it leaves out and which studies need it. `docs/cellsim.md` of torsweep has
//! the whole list, and `docs/fidelity.md` what the model is measured against.

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
