//! What a call costs for every clock of this system, how finely it counts, and in which steps it moves.
//!
//! [`sources`] lists the clocks and how they are asked, [`report`] asks them, [`numbers`] sums up.
//!
//! A single timing of a million calls also measures the loop, the first call (which finds the
//! function and touches its page), a processor that is still speeding up, and whatever else the
//! machine did just then. Here the first
//! call is measured alone; the processor is kept busy before anything counts; each round times every clock, one after
//! the other, and a loop without a call beside it, which is taken off; the result is a median over rounds, with
//! quartiles.
//!
//! ```
//! let report = clocks::report::measure(1);
//! assert!(report.clocks.iter().any(|clock| clock.name == "CLOCK_MONOTONIC"));
//! ```

pub mod numbers;
pub mod report;
pub mod sources;
