//! `linkem run CONFIG.json`: hosts with links between them, until told to stop.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Links in user space between hosts that run real kernels.
#[derive(Parser)]
#[command(name = "linkem", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the hosts that CONFIG describes and move packets between them until SIGTERM or SIGINT.
    ///
    /// When all is there, one line of JSON on standard output names each host's namespace.
    Run {
        /// A file of format `torsweep-links`.
        config: PathBuf,
    },
}

fn main() -> ExitCode {
    let Command::Run { config } = Arguments::parse().command;
    match linkem::run::run(&config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("linkem: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
