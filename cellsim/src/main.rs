//! `cellsim run RUN_DIR`: run what a run directory describes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tor at the level of cells, in simulated time: the embedded engine of torsweep.
#[derive(Parser)]
#[command(name = "cellsim", version = cellsim::VERSION, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run what RUN_DIR/run.json describes and leave tables in RUN_DIR.
    Run {
        /// A directory made by `torsweep run prepare`.
        run_dir: PathBuf,
        /// Report progress on standard error.
        #[arg(long)]
        progress: bool,
    },
}

fn main() -> ExitCode {
    cellsim::large_pages::advise_heap();
    let Command::Run { run_dir, progress } = Arguments::parse().command;
    match cellsim::directory::run(&run_dir, progress) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cellsim: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
