//! `clocks [ROUNDS]`: print what a call costs for every clock of this system, as JSON.

use std::process::ExitCode;

const ROUNDS: usize = 41;
const MOST_ROUNDS: usize = 10_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let rounds = match (arguments.next(), arguments.next()) {
        (None, _) => Some(ROUNDS),
        (Some(text), None) => text.parse().ok().filter(|rounds| (1..=MOST_ROUNDS).contains(rounds)),
        _ => None,
    };
    let Some(rounds) = rounds else {
        eprintln!("clocks: accepted: nothing, or a number of rounds from 1 to {MOST_ROUNDS}");
        return ExitCode::from(2);
    };
    let report = clocks::report::measure(rounds);
    match serde_json::to_string_pretty(&report) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("clocks: {error}");
            ExitCode::FAILURE
        }
    }
}
