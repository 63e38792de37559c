//! The clocks of a system by name, and the ways to ask them: through the C library, which on Linux asks the vDSO
//! where it can, and by a system call, which the library makes where it cannot.

use libc::{clockid_t, timespec};

/// A clock of `clock_gettime(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The clock's name in C.
    pub name: &'static str,
    /// The clock's number.
    pub id: clockid_t,
}

macro_rules! clocks {
    ($($name:ident),* $(,)?) => {
        &[$(Clock { name: stringify!($name), id: libc::$name }),*]
    };
}

/// The clocks that Linux has (clock_gettime(2)), but for those of alarms and of other processes.
#[cfg(target_os = "linux")]
pub const CLOCKS: &[Clock] = clocks![
    CLOCK_REALTIME,
    CLOCK_REALTIME_COARSE,
    CLOCK_MONOTONIC,
    CLOCK_MONOTONIC_COARSE,
    CLOCK_MONOTONIC_RAW,
    CLOCK_BOOTTIME,
    CLOCK_TAI,
    CLOCK_PROCESS_CPUTIME_ID,
    CLOCK_THREAD_CPUTIME_ID,
];

/// The clocks that FreeBSD has (clock_gettime(2)): `_FAST` are its coarse ones.
#[cfg(target_os = "freebsd")]
pub const CLOCKS: &[Clock] = clocks![
    CLOCK_REALTIME,
    CLOCK_REALTIME_PRECISE,
    CLOCK_REALTIME_FAST,
    CLOCK_MONOTONIC,
    CLOCK_MONOTONIC_PRECISE,
    CLOCK_MONOTONIC_FAST,
    CLOCK_UPTIME,
    CLOCK_UPTIME_PRECISE,
    CLOCK_UPTIME_FAST,
    CLOCK_SECOND,
    CLOCK_PROCESS_CPUTIME_ID,
    CLOCK_THREAD_CPUTIME_ID,
];

/// The clocks of POSIX.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
pub const CLOCKS: &[Clock] = clocks![CLOCK_REALTIME, CLOCK_MONOTONIC];

/// How a clock is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// `clock_gettime` of the C library.
    Library,
    /// The system call itself.
    SystemCall,
}

/// The ways there are here.
#[cfg(target_os = "linux")]
pub const WAYS: &[Way] = &[Way::Library, Way::SystemCall];
/// The ways there are here.
#[cfg(not(target_os = "linux"))]
pub const WAYS: &[Way] = &[Way::Library];

const SECOND_NS: i128 = 1_000_000_000;

fn nanoseconds(time: timespec) -> i128 {
    i128::from(time.tv_sec) * SECOND_NS + i128::from(time.tv_nsec)
}

fn nothing() -> timespec {
    // SAFETY: a timespec is numbers, for which all zeros are values.
    unsafe { std::mem::zeroed() }
}

impl Clock {
    /// What the clock shows, ns, asked in this `way`; None where the system has no such clock.
    #[inline]
    pub fn read(&self, way: Way) -> Option<i128> {
        let mut time = nothing();
        // SAFETY: `time` outlives the call, which writes no more than a timespec.
        let failed = unsafe { ask(self.id, way, &mut time) };
        (failed == 0).then(|| nanoseconds(time))
    }

    /// What the system says the clock counts in, ns (`clock_getres`).
    pub fn resolution_ns(&self) -> Option<i128> {
        let mut time = nothing();
        // SAFETY: `time` outlives the call, which writes no more than a timespec.
        let failed = unsafe { libc::clock_getres(self.id, &mut time) };
        (failed == 0).then(|| nanoseconds(time))
    }
}

/// # Safety
/// `time` has to be valid for writes of a timespec.
#[cfg(target_os = "linux")]
#[inline]
unsafe fn ask(id: clockid_t, way: Way, time: *mut timespec) -> i64 {
    match way {
        // SAFETY: the caller says that `time` can be written.
        Way::Library => i64::from(unsafe { libc::clock_gettime(id, time) }),
        // SAFETY: the same; the kernel takes a clock's number and a pointer to a timespec.
        Way::SystemCall => unsafe { libc::syscall(libc::SYS_clock_gettime, id, time) },
    }
}

/// # Safety
/// `time` has to be valid for writes of a timespec.
#[cfg(not(target_os = "linux"))]
#[inline]
unsafe fn ask(id: clockid_t, _: Way, time: *mut timespec) -> i64 {
    // SAFETY: the caller says that `time` can be written.
    i64::from(unsafe { libc::clock_gettime(id, time) })
}

/// What the kernel reads time from (`tsc`, `hpet`, …), where it says so; with a slow one Linux has no vDSO.
pub fn clocksource() -> Option<String> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_read_the_same_clock() {
        let monotonic =
            CLOCKS.iter().find(|clock| clock.name == "CLOCK_MONOTONIC").expect("every system has it");
        let readings: Vec<i128> =
            WAYS.iter().chain(WAYS).map(|way| monotonic.read(*way).expect("it can be read")).collect();
        assert!(readings.is_sorted());
    }

    #[test]
    fn a_clock_that_is_none_is_not_read() {
        let none = Clock { name: "NONE", id: 9_999 };
        assert!(WAYS.iter().all(|way| none.read(*way).is_none()));
        assert_eq!(none.resolution_ns(), None);
    }
}
