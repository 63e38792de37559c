//! linkem: links in user space between hosts that run real kernels.
//!
//! Each host is a network namespace of its own: its programs use the machine's kernel, with a TCP stack of
//! their own and one device. linkem is the other end of all devices, and moves packets between them with
//! the rates, delays, queues and losses of a network.
//!
//! In order of use: a [`config`] is read; [`namespace`] makes the hosts, told by [`rtnetlink`] what their
//! kernels shall do; [`run`] reports where they are, and [`pump`] moves packets until told to stop. What
//! happens to a packet is decided by a [`network`], a state machine without a clock or a device: [`pace`]
//! says when a link has sent it, the [`agenda`] when it arrives, [`queue`] and [`codel`] whether it fits,
//! and [`slab`] holds its bytes. [`statistics`] and [`trace`] count, [`tables`] writes. [`priority`] asks
//! for the right to run before the hosts' programs.
//!
//! A packet of 1,500 bytes from a host with an up-link of 125 kB/s takes 12 ms to leave it, half of a round
//! trip of 100 ms to cross the network, and 6 ms through a down-link of 250 kB/s:
//!
//! ```
//! use cellsim::latency::Latency;
//! use linkem::{config::Config, network::Network};
//!
//! let config: Config = serde_json::from_str(r#"{
//!     "format": "torsweep-links", "format_version": 2, "latency": "latency.npy", "latency_floor_us": 2000,
//!     "mtu_bytes": 1500,
//!     "hosts": [
//!         {"name": "a", "address": "11.0.0.1", "place": 0, "access_us": 0,
//!          "up_bytes_per_s": 125000, "down_bytes_per_s": 250000},
//!         {"name": "b", "address": "11.0.0.2", "place": 0, "access_us": 0,
//!          "up_bytes_per_s": 125000, "down_bytes_per_s": 250000}
//!     ],
//!     "up_queue": {"packets": 1000}, "down_queue": {"kind": "droptail", "bytes": 62500},
//!     "congestion_control": "cubic", "initial_window_segments": 10, "seed": 1, "statistics": null
//! }"#)?;
//! let mut network = Network::new(&config, Latency::constant(2, 100_000), 0);
//!
//! let slot = network.slab.take();
//! network.slab.room(slot)[0] = 0x45;
//! network.slab.room(slot)[16..20].copy_from_slice(&[11, 0, 0, 2]);
//! network.send(0, 0, slot, 1_500);
//!
//! let mut handed_over = Vec::new();
//! while let Some(now_ns) = network.next_ns() {
//!     network.advance(now_ns, |host, packet| {
//!         handed_over.push((now_ns, host, packet.len()));
//!         now_ns
//!     });
//! }
//! assert_eq!(handed_over, [(68_000_000, 1, 1_500)]);
//! # Ok::<(), serde_json::Error>(())
//! ```

pub mod agenda;
pub mod codel;
pub mod config;
pub mod error;
pub mod histogram;
pub mod ip;
pub mod namespace;
pub mod network;
pub mod pace;
pub mod priority;
pub mod pump;
pub mod queue;
pub mod rtnetlink;
pub mod run;
pub mod slab;
pub mod statistics;
pub mod tables;
pub mod trace;
