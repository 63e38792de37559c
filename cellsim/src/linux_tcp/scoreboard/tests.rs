//! Tests of what a sender knows of its flights.

use super::*;
use crate::time::Span;
use proptest::prelude::*;

const PACKET: u32 = 1000;

fn at(ms: u64) -> Time {
    Time::START + Span::from_ms(ms)
}

/// Flights of two packets.
fn sent(flights: u64) -> Scoreboard {
    let mut scoreboard = Scoreboard::default();
    for flight in 1..=flights {
        scoreboard.send(at(flight), flight * 2 * u64::from(PACKET), 2 * PACKET, 2);
    }
    scoreboard
}

#[test]
fn an_acknowledgement_takes_away_what_it_covers() {
    let mut scoreboard = sent(3);
    let delivered = scoreboard.take_in(3000, 3000, std::iter::empty());
    assert_eq!((delivered.packets, scoreboard.out, scoreboard.in_flight()), (3, 3, 3));
    assert_eq!((delivered.sent, delivered.newest), (Some(at(1)), Some((at(2), 3000))));
}

#[test]
fn a_hole_is_one_packet_and_the_rest_is_sacked() {
    let mut scoreboard = sent(4);
    let delivered = scoreboard.take_in(1000, 7000, [Sack::Hole(1000, PACKET)].into_iter());
    assert_eq!(delivered.packets, 1 + 5);
    assert_eq!((scoreboard.out, scoreboard.sacked, scoreboard.lost), (7, 5, 0));
    assert!(scoreboard.lose_gaps(|_, highest| highest == 7000));
    assert_eq!((scoreboard.lost, scoreboard.to_resend, scoreboard.in_flight()), (1, 1, 1));
    assert_eq!(scoreboard.resend(at(50), 8000), Some((1000, PACKET)));
    assert_eq!(scoreboard.resend(at(50), 8000), None);
    assert_eq!(scoreboard.in_flight(), 2);
    let delivered = scoreboard.take_in(7000, 7000, [Sack::Filled(1000)].into_iter());
    assert_eq!((delivered.packets, delivered.stamped, delivered.spurious), (1, Some(at(50)), false));
    assert_eq!((scoreboard.out, scoreboard.sacked, scoreboard.lost, scoreboard.resent), (1, 0, 0, 0));
    assert!(scoreboard.losses.is_none(), "nothing is missed, and nothing is kept of it");
    scoreboard.take_in(7000, 7000, [Sack::Hole(7000, PACKET)].into_iter());
    assert!(scoreboard.lose_gaps(|_, _| true) && scoreboard.to_resend == 1, "the next loss");
}

#[test]
fn what_comes_after_a_time_out_without_having_been_a_hole_was_not_lost() {
    let mut scoreboard = sent(2);
    scoreboard.lose_all(|_| true);
    assert_eq!(scoreboard.in_flight(), 0);
    assert_eq!(scoreboard.resend(at(900), 4000), Some((0, PACKET)));
    let delivered = scoreboard.take_in(2000, 2000, std::iter::empty());
    assert!(delivered.spurious);
    assert_eq!((delivered.sent, delivered.stamped), (Some(at(1)), Some(at(1))), "the one that left first");
    scoreboard.lose_nothing();
    assert_eq!((scoreboard.lost, scoreboard.to_resend, scoreboard.in_flight()), (0, 0, 2));
}

#[test]
fn the_probe_is_the_last_packet() {
    let mut scoreboard = sent(2);
    assert_eq!(scoreboard.resend_last(at(9), 4000), Some((3000, PACKET)));
    assert_eq!((scoreboard.out, scoreboard.resent), (4, 1));
}

proptest! {
    #[test]
    fn counts_are_those_of_the_flights(steps in prop::collection::vec((0_u8..6, 0_u64..40), 1..200)) {
        let mut scoreboard = sent(20);
        let (mut acked, mut highest, mut holes) = (0, 0, Vec::<u64>::new());
        for (time, &(step, number)) in steps.iter().enumerate() {
            let now = at(100 + time as u64);
            match step {
                0 if highest < 39_000 && holes.last().is_none_or(|&last| last < highest) => {
                    holes.push(highest);
                    highest += 2000;
                    scoreboard.take_in(acked, highest, [Sack::Hole(highest - 2000, PACKET)].into_iter());
                }
                1 if holes.is_empty() => {
                    acked = (acked + 1000 * (number % 3)).max(highest).min(40_000);
                    highest = acked;
                    scoreboard.take_in(acked, highest, std::iter::empty());
                }
                2 => { scoreboard.lose_gaps(|_, _| true); }
                3 => scoreboard.lose_all(|flight| flight.end % 3000 != 0),
                4 => { scoreboard.resend(now, 40_000); }
                5 if !holes.is_empty() => {
                    let filled = holes.remove(usize::try_from(number).expect("small") % holes.len());
                    acked = holes.first().copied().unwrap_or(highest);
                    scoreboard.take_in(acked, highest, [Sack::Filled(filled)].into_iter());
                }
                _ => {}
            }
            let sum = |of: fn(&Flight) -> bool| -> u32 {
                scoreboard.flights.iter().filter(|flight| of(flight)).map(Flight::packets).sum()
            };
            prop_assert_eq!(scoreboard.out, sum(|_| true));
            prop_assert_eq!(scoreboard.sacked, sum(|flight| flight.is(SACKED)));
            prop_assert_eq!(scoreboard.lost, sum(|flight| flight.is(LOST)));
            prop_assert_eq!(scoreboard.resent, sum(|flight| flight.is(RESENT)));
            prop_assert_eq!(scoreboard.to_resend, sum(Flight::waits));
            prop_assert_eq!(u64::from(scoreboard.out), (40_000 - acked) / 1000);
            prop_assert!(scoreboard.flights.iter().zip(scoreboard.flights.iter().skip(1)).all(|(a, b)| a.end == b.start()));
        }
    }
}
