//! The right to run before others: real-time priority for the thread that moves packets.
//!
//! A thread of the normal kind waits for a processor behind the hosts' programs, and everything it carries
//! is late by that much. With SCHED_FIFO it runs as soon as something is due. It sleeps whenever nothing
//! is, and the kernel's limit on real-time threads (95 % of each second) still holds.

use std::fmt;

/// How the thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// SCHED_FIFO, priority 1.
    RealTime,
    /// The normal kind, with nice -20.
    Preferred,
    /// The normal kind: nothing else was permitted.
    Normal,
}

impl fmt::Display for Scheduling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::RealTime => "real-time",
            Self::Preferred => "nice -20",
            Self::Normal => "normal",
        })
    }
}

/// Ask for the best that is permitted, for the calling thread and the threads it starts later.
pub fn raise() -> Scheduling {
    // Without this a sleeping thread of the normal kind may wake 50 µs late.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters outlive the call, and 0 means the calling thread.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } == 0 {
        return Scheduling::RealTime;
    }
    match rustix::process::setpriority_process(None, -20) {
        Ok(()) => Scheduling::Preferred,
        Err(_) => Scheduling::Normal,
    }
}
