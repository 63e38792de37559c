//! linkem: links in user space between hosts that run real kernels.

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
