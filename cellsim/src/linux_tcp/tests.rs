//! Tests of sender and receiver together, over a link that loses what it is told to.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::Linux;
use crate::counts::low_bits;
use crate::link::Link;
use crate::linux_tcp::kernel::{
    HEADER_BYTES, Kernel, LINUX_3_2, LINUX_6_18, LINUX_6_18_AS_OF_2012, MSS_BYTES,
};
use crate::time::{Span, Time, Timer};

const MSS: u64 = MSS_BYTES as u64;
const ONE_WAY: Span = Span::from_ms(10);
/// Transmissions after which nothing is lost any more.
const LOSSES: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Arrive(u64, Option<u32>),
    Wake,
    Timer,
}

/// A connection, its link, and what will happen.
struct Scene {
    tcp: Linux,
    up: Link,
    steps: BTreeSet<(Time, usize, Step)>,
    count: usize,
    to_write: u64,
}

/// A connection that has carried `bytes` before.
fn used(kernel: &'static Kernel, bytes: u64) -> Linux {
    let new = Linux::new(kernel, ONE_WAY, MSS, true);
    Linux {
        arrived: bytes,
        read: bytes,
        written: bytes,
        sent: bytes,
        acked: bytes,
        small_end: bytes,
        edge: new.edge + bytes,
        buffer: new.buffer.starting_at(bytes),
        ..new
    }
}

impl Scene {
    fn new(kernel: &'static Kernel, bytes_per_second: u64, bytes: u64) -> Self {
        Self::of(Linux::new(kernel, ONE_WAY, MSS, true), bytes_per_second, bytes)
    }

    fn of(tcp: Linux, bytes_per_second: u64, bytes: u64) -> Self {
        let mut scene =
            Self { tcp, up: Link::new(bytes_per_second), steps: BTreeSet::new(), count: 0, to_write: bytes };
        scene.pump(Time::START);
        scene
    }

    fn push(&mut self, time: Time, step: Step) {
        self.count += 1;
        self.steps.insert((time, self.count, step));
    }

    fn send(&mut self, now: Time, bytes: u64, again: Option<u32>) -> Time {
        let departure = self.up.send(now, bytes + u64::from(HEADER_BYTES));
        self.push(departure + ONE_WAY, Step::Arrive(bytes, again));
        departure
    }

    fn pump(&mut self, now: Time) {
        self.tcp.apply_acks(now);
        // Ends: each turn but the last sends of what there is to send.
        loop {
            while let Some((start, bytes)) = self.tcp.next_resend(now) {
                self.send(now, bytes, Some(start));
            }
            let mut chunk = self.tcp.next_chunk(now, &self.up);
            self.tcp.poll(now);
            let space = self.tcp.send_space().min(self.to_write);
            if chunk == 0 && space > 0 {
                self.to_write -= space;
                self.tcp.write(space);
                chunk = self.tcp.next_chunk(now, &self.up);
            }
            if chunk == 0 {
                break;
            }
            let departure = self.send(now, chunk, None);
            self.tcp.note_sent(now, chunk, departure);
        }
        self.tcp.waiting = true;
        if let Some(time) = self.tcp.timer_due() {
            self.push(time.max(now), Step::Timer);
        }
    }

    /// The next thing happens; when, or nothing is left. `lost`: if it is an arrival, it does not come.
    fn step(&mut self, lost: bool) -> Option<Time> {
        let (now, _, step) = self.steps.pop_first()?;
        match step {
            Step::Arrive(bytes, None) if lost => self.tcp.lose(u32::try_from(bytes).expect("a packet")),
            Step::Arrive(bytes, None) => drop(self.tcp.arrive(now, bytes)),
            Step::Arrive(_, Some(start)) if !lost => drop(self.tcp.fill_hole(now, start)),
            Step::Arrive(_, Some(_)) => {}
            Step::Wake => {
                if self.tcp.woken(now) {
                    self.pump(now);
                }
            }
            Step::Timer => {
                self.tcp.apply_acks(now);
                match self.tcp.timer(now) {
                    Timer::Until(time) => self.push(time, Step::Timer),
                    Timer::Expired => self.pump(now),
                    Timer::Off => {}
                }
            }
        }
        let readable = self.tcp.readable();
        if readable > 0 {
            self.tcp.take(now, readable);
        }
        if let Some(time) = self.tcp.wake(now) {
            self.push(time, Step::Wake);
        }
        Some(now)
    }
}

proptest! {
    #[test]
    fn everything_comes_whatever_is_lost(
        losses in prop::collection::vec(any::<bool>(), 0..LOSSES), bytes in 1_u64..400_000, which in 0_usize..3,
        rate in 20_000_u64..5_000_000, before in prop_oneof![Just(0), Just((1_u64 << 32) - 50_000)],
    ) {
        let kernel = [&LINUX_3_2, &LINUX_6_18, &LINUX_6_18_AS_OF_2012][which];
        let mut losses = losses.into_iter();
        let mut scene = Scene::of(used(kernel, before), rate, bytes);
        let mut steps = 0;
        let mut arrives = scene.steps.first().is_some_and(|step| matches!(step.2, Step::Arrive(..)));
        while scene.step(arrives && losses.next().unwrap_or(false)).is_some() {
            arrives = scene.steps.first().is_some_and(|step| matches!(step.2, Step::Arrive(..)));
            steps += 1;
            prop_assert!(steps < 200_000);
            prop_assert!(scene.tcp.sent <= scene.tcp.written && scene.tcp.acked <= scene.tcp.sent);
            let offered = scene.tcp.buffer.edge.wrapping_sub(low_bits(scene.tcp.delivered()));
            prop_assert!(scene.tcp.delivered() <= scene.tcp.edge || offered < 1 << 31);
        }
        scene.tcp.apply_acks(Time::NEVER);
        prop_assert_eq!(scene.tcp.read, before + bytes);
        prop_assert!(!scene.tcp.has_holes() && !scene.tcp.scoreboard.has_gaps());
        prop_assert_eq!((scene.tcp.queued(), scene.tcp.unacknowledged(), scene.tcp.scoreboard.in_flight()), (0, 0, 0));
    }
}

#[test]
fn without_losses_nothing_is_sent_twice_and_the_link_is_full() {
    for kernel in [&LINUX_3_2, &LINUX_6_18] {
        let (rate, bytes) = (1_000_000, 10_000_000);
        let mut scene = Scene::new(kernel, rate, bytes);
        let mut last = Time::START;
        while scene.tcp.read < bytes {
            last = scene.step(false).expect("something to come");
        }
        let least = bytes.div_ceil(MSS) * u64::from(MSS_BYTES + HEADER_BYTES) * 1000 / rate;
        let took = last.since_start().us() / 1000;
        assert!((least..least + 200).contains(&took), "{took} ms instead of {least}");
        assert!(
            scene.tcp.newest_round_trip < Span::from_ms(80) || !kernel.small_queues,
            "TSQ keeps it short"
        );
    }
}

#[test]
fn one_loss_in_a_window_is_one_reduction_and_no_time_out() {
    let mut scene = Scene::new(&LINUX_6_18, 2_000_000, 3_000_000);
    let (mut count, mut lowest) = (0, u32::MAX);
    let mut before = 0;
    while let Some(&(_, _, step)) = scene.steps.first() {
        let arrival = matches!(step, Step::Arrive(_, None));
        count += u32::from(arrival);
        let lost = arrival && [300, 303, 309].contains(&count);
        if lost && before == 0 {
            before = scene.tcp.window.packets;
        }
        scene.step(lost);
        if before > 0 {
            lowest = lowest.min(scene.tcp.window.threshold);
        }
    }
    assert_eq!(scene.tcp.read, 3_000_000);
    assert!(lowest >= before * 7 / 10 && lowest < before, "{before} {lowest}");
}

#[test]
fn a_send_buffer_follows_the_window_packet_by_packet_though_bytes_wait() {
    static AT_ACKNOWLEDGEMENTS: Kernel = Kernel { grows_when_sending: false, ..LINUX_6_18 };
    let behind = |kernel: &'static Kernel| {
        let mut scene = Scene::new(kernel, 12_500_000, 10_000_000);
        let mut most = 0;
        while scene.tcp.window.packets < 100 {
            scene.step(false);
            let followed = 2 * u64::from(scene.tcp.window.packets) * kernel.expected_segment;
            most = most.max(followed.saturating_sub(scene.tcp.send_memory.into()) / kernel.expected_segment);
        }
        most
    };
    // In segments: what one acknowledgement adds, or a third of what the buffer had.
    let (at_each_segment, at_acknowledgements) = (behind(&LINUX_6_18), behind(&AT_ACKNOWLEDGEMENTS));
    assert!(at_each_segment <= 4, "{at_each_segment}");
    assert!(at_acknowledgements > 20, "{at_acknowledgements}");
}

/// A connection whose window is larger than its send buffer, and what a link takes of it at once.
fn wide() -> (Linux, Link) {
    let mut tcp = Linux::new(&LINUX_6_18, ONE_WAY, MSS, true);
    tcp.window.packets = 40;
    (tcp, Link::new(12_500_000))
}

/// Sizes of the segments in which a write of `bytes` of cells leaves at once, and what of it waits.
fn segments(nagle: bool, bytes: u64) -> (Vec<u64>, u64) {
    let (mut tcp, up) = wide();
    tcp.nagle = nagle;
    let (mut left, mut sizes) = (bytes, Vec::new());
    while left > 0 {
        let push = tcp.first_push(left);
        tcp.write(push);
        left -= push;
        loop {
            let chunk = tcp.next_chunk(Time::START, &up);
            if chunk == 0 {
                break;
            }
            tcp.note_sent(Time::START, chunk, Time::START);
            sizes.push(chunk);
        }
    }
    (sizes, tcp.unsent())
}

#[test]
fn nagles_algorithm_holds_back_the_end_of_a_write_whose_first_record_ended_in_a_small_segment() {
    let (sizes, waiting) = segments(true, 32 * 514);
    assert_eq!((&sizes[..3], waiting), (&[MSS, MSS, 4048 - 2 * MSS][..], (32 * 514 - 4048) % MSS));
    assert!(sizes[3..].iter().all(|&size| size == MSS));
    let (sizes, waiting) = segments(false, 32 * 514);
    assert_eq!(
        (sizes.len(), waiting),
        (13, 0),
        "each of four records ends in a small segment, and a fifth is one"
    );
    assert_eq!(segments(true, 514), (vec![514], 0), "there is none before it");
}

#[test]
fn what_a_write_lets_go_leaves_before_its_program_finds_no_space() {
    let (mut tcp, up) = wide();
    let first = tcp.send_memory;
    tcp.write(tcp.send_space());
    while tcp.unsent() > 0 {
        let chunk = tcp.next_chunk(Time::START, &up);
        tcp.note_sent(Time::START, chunk, Time::START);
    }
    assert_eq!(tcp.next_chunk(Time::START, &up), 0);
    assert_eq!((tcp.send_memory, tcp.send_space()), (first, 0));
}

#[test]
fn a_program_that_asks_is_told_of_space_once_a_third_is_free() {
    let (mut tcp, _) = wide();
    tcp.write(10 * MSS);
    tcp.poll(Time::START);
    assert!(tcp.send_space() > 0, "half of the buffer is full");
    tcp.write(5 * MSS);
    assert!(tcp.send_space() > 0, "for a program that does not ask");
    tcp.poll(Time::START);
    assert_eq!(tcp.send_space(), 0);
}
