//! `cellsim run RUN_DIR`: run what a run directory describes.

use std::env;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::panic::{self, PanicHookInfo};
use std::path::PathBuf;
use std::process::{self, ExitCode};

use cellsim::error::Error;
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
    panic::set_hook(Box::new(report_defect));
    let command = Arguments::parse().command;
    // A defect ends like work that failed; the hook has said what it was.
    match panic::catch_unwind(|| execute(&command)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            report(&error.to_string());
            ExitCode::from(error.exit_code())
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// Start this program again with its memory in pages of 2 MiB, unless its start says something else: a large network touches
/// its memory in no order, and with small pages the processor looks up where one lies at nearly every step. glibc asks
/// Linux for them (`madvise`) when its environment says so at the start; other libraries do not look at it. A program that
/// cannot be started again goes on in small pages.
fn ask_for_large_pages() {
    const TUNABLES: &str = "GLIBC_TUNABLES";
    if env::var_os(TUNABLES).is_some() {
        return;
    }
    if let Ok(program) = env::current_exe() {
        let arguments = env::args_os().skip(1);
        let _ = process::Command::new(program).args(arguments).env(TUNABLES, "glibc.malloc.hugetlb=1").exec();
    }
}

fn execute(command: &Command) -> Result<(), Error> {
    let Command::Run { run_dir, progress } = command;
    ask_for_large_pages();
    cellsim::directory::run(run_dir, *progress)
}

/// A line on standard error, where there is one to take it.
fn report(message: &str) {
    let _ = writeln!(io::stderr(), "cellsim: {message}");
}

fn report_defect(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let text =
        payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let what = text.unwrap_or("no more is known").replace('\n', " ");
    let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
    report(&format!(
        "this is a defect of cellsim {}: {what}{}; please report it with the run's folder",
        cellsim::VERSION,
        place.unwrap_or_default()
    ));
}
