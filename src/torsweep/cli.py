"""The ``torsweep`` command: the sub-commands of every stage, and what their errors look like.

In: the command line. Out: the exit code of :func:`main` (0 done, 1 failed, 2 bad input or configuration, 3 a
tool is missing) and, for an error a user can put right, one line on standard error.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from typing import Annotated, Any, NoReturn

import typer

from torsweep import __version__
from torsweep.commands import config_app, demo_command, doctor_command, import_app, run_app, tor_app
from torsweep.ending import exit_code_of
from torsweep.engines.contract import engine_names
from torsweep.network.cli import bandwidth_app, latency_app, network_app, relays_app
from torsweep.study.cli import compare_command, new_command

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": ("torsweep new my-study", "torsweep compare --candidate ../tor@my-branch"),
    "compare": (
        "torsweep compare --candidate ../tor@my-branch",
        "torsweep compare --torrc 'KISTSchedRunInterval 1 msec' --dry-run",
    ),
    "doctor": ("torsweep doctor", "torsweep doctor --engine shadow"),
    "network sample": (
        "torsweep network sample ci --seed 1 --out ci-1",
        "torsweep network sample paper --seed 1 --out heavy-1 --set load=1.5",
    ),
    "network describe": (
        "torsweep network describe ci-1",
        "torsweep network describe ci-1 --experiment scheduler_choice",
    ),
    "latency import": ("torsweep latency import rtts.txt.gz --unit ms --out latency",),
    "bandwidth import": ("torsweep bandwidth import ookla.csv --out bandwidth",),
    "relays import": (
        "torsweep relays import consensus --format consensus --descriptors descriptors/ --out relays",
    ),
    "run prepare": (
        "torsweep run prepare refill_sweep --network ci-1 --engine cellsim --out run",
        "torsweep run prepare refill_sweep --network ci-1 --variant refill_interval=100ms --out run-100",
    ),
    "tor build": ("torsweep tor build --jobs 4", "torsweep tor build --git ../tor --revision my-branch"),
    "import tornettools": ("torsweep import tornettools tornet-0.1-a tornet-0.1-b --as baseline",),
    "shadow run": ("torsweep shadow run run --progress --threads 8",),
}
"""Command lines by command; the empty name is ``torsweep`` itself."""


def with_examples(command: Any, path: tuple[str, ...] = ()) -> Any:
    """``command``, which is called by ``path``, and all below it with their :data:`EXAMPLES`."""
    if lines := EXAMPLES.get(" ".join(path)):
        # \b keeps each line as it is.
        title = "Examples:" if len(lines) > 1 else "Example:"
        command.epilog = "\n".join(["\b", title, *(f"  {line}" for line in lines)])
    for name, below in getattr(command, "commands", {}).items():
        with_examples(below, (*path, name))
    return command


app = typer.Typer(
    name="torsweep",
    help="Compare tors in private networks, and take the steps of an experiment one by one. `snakemake` runs"
    " whole experiments.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(network_app, name="network")
app.add_typer(latency_app, name="latency")
app.add_typer(bandwidth_app, name="bandwidth")
app.add_typer(relays_app, name="relays")
app.add_typer(config_app, name="config")
app.add_typer(run_app, name="run")
app.add_typer(tor_app, name="tor")
app.add_typer(import_app, name="import")
for engine in engine_names():
    # By its name: an engine is found by being there.
    if importlib.util.find_spec(f"torsweep.engines.{engine}.cli"):
        app.add_typer(importlib.import_module(f"torsweep.engines.{engine}.cli").app, name=engine)
app.command("compare")(compare_command)
app.command("new")(new_command)
app.command("demo")(demo_command)
app.command("doctor")(doctor_command)


def _print_version(shown: bool) -> None:
    if shown:
        print(f"torsweep {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Options before a sub-command."""


@functools.cache
def _command_of(tree: typer.Typer) -> Any:
    """The commands of ``tree``, which take longer to build than most of them to run."""
    return with_examples(typer.main.get_command(tree))


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line ``arguments`` (the process's own by default) and exit with its code."""
    sys.exit(exit_code_of(lambda: _command_of(app)(arguments, prog_name="torsweep"), "torsweep"))
