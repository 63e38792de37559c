"""The commands ``torsweep network``, ``latency``, ``bandwidth`` and ``relays``.

In: command lines. Out: network directories and imported tables, and what there is to say about them. Modules
that only one command needs are imported inside it, so that sampling a network does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from torsweep.errors import InputError
from torsweep.seeds import MOST_SEED
from torsweep.storage.folders import (
    BANDWIDTHS_FOLDER,
    LATENCIES_FOLDER,
    NETWORK_FOLDER,
    RELAYS_FOLDER,
    FolderKind,
    OutputFolder,
)

network_app = typer.Typer(help="Sample networks and describe them.", no_args_is_help=True)
latency_app = typer.Typer(help="Import measured latencies.", no_args_is_help=True)
bandwidth_app = typer.Typer(help="Import measured client bandwidths.", no_args_is_help=True)
relays_app = typer.Typer(help="Import relay populations from a directory's documents.", no_args_is_help=True)

_OUT_HELP = "Folder to write; one that this command wrote before is replaced."


def _out(kind: FolderKind) -> typer.models.OptionInfo:
    return typer.Option("--out", parser=OutputFolder(kind), help=_OUT_HELP)


@network_app.command()
def sample(
    config: Annotated[str, typer.Argument(help="Name of a network, or path of its YAML file.")],
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Which network of this configuration.")],
    out: Annotated[Path, _out(NETWORK_FOLDER)],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the configuration; repeatable."),
    ] = None,
) -> None:
    """Sample a network: the same bytes for the same configuration and seed."""
    from torsweep.config.network import load_network_config
    from torsweep.config.reading import parse_settings
    from torsweep.network.model import write_network
    from torsweep.network.sampling import sample_network
    from torsweep.network.tornet import write_tornet

    configured = load_network_config(config, parse_settings(overrides))
    if configured.tornettools:
        write_tornet(configured, seed, out)
        return
    sampled = sample_network(configured, seed)
    write_network(sampled.network, sampled.matrix_us, out)


def _print_imported(file: Path, run: Callable[[], Iterable[str]]) -> None:
    """Print the lines that ``run`` returns of ``file``; on a terminal a clock shows that it goes on."""
    with _waiting(f"importing {file}"):
        lines = list(run())
    for line in lines:
        print(line)


def _waiting(doing: str) -> AbstractContextManager[object]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    progress.add_task(doing, total=None)
    return progress


@latency_app.command("import")
def import_latency(
    file: Annotated[Path, typer.Argument(help="Measured latencies; gzip and xz are read as they are.")],
    out: Annotated[Path, _out(LATENCIES_FOLDER)],
    unit: Annotated[str, typer.Option(help="us, ms or s: the unit of the numbers in FILE.")],
    one_way: Annotated[bool, typer.Option("--one-way", help="The numbers are of one direction.")] = False,
) -> None:
    """Import a matrix of RTTs; prints its sanity statistics. Use it as latency: {file: OUT, use: direct}."""
    from torsweep.network.latency_import import import_latency as run

    _print_imported(file, lambda: run(file, unit, out, one_way=one_way))


@bandwidth_app.command("import")
def import_bandwidth(
    file: Annotated[Path, typer.Argument(help="Tiles of Ookla Open Data, CSV or Parquet.")],
    out: Annotated[Path, _out(BANDWIDTHS_FOLDER)],
) -> None:
    """Import client bandwidths. Use them as client_bandwidth: {file: OUT}."""
    from torsweep.network.clients import import_bandwidth as run

    _print_imported(file, lambda: run(file, out))


@relays_app.command("import")
def import_relays(
    file: Annotated[Path, typer.Argument(help="A consensus, or a relayinfo_staging file.")],
    out: Annotated[Path, _out(RELAYS_FOLDER)],
    file_format: Annotated[str, typer.Option("--format", help="consensus or relayinfo.")],
    descriptors: Annotated[
        Path | None, typer.Option(help="Server descriptors for a consensus: a file, a folder or a tarball.")
    ] = None,
) -> None:
    """Import a relay population. Use it as relay_population: {file: OUT}."""
    from torsweep.network.relays_import import import_relays as run

    _print_imported(file, lambda: run(file, file_format, out, descriptors))


@network_app.command("describe")
def describe_command(
    directory: Annotated[Path, typer.Argument(help="A network directory.")],
    experiment: Annotated[
        str, typer.Option(help="Whose clients ask: the name of an experiment, or its experiment.yaml.")
    ] = "refill_sweep",
) -> None:
    """Say what a network is like: capacity, latencies, bandwidths, load."""
    from torsweep.config.experiment import load_experiment
    from torsweep.network import describe as description
    from torsweep.network.model import NETWORK_FILE, read_network

    loaded = load_experiment(experiment)
    if not description.pauses(loaded.traffic.web):
        problem = "this experiment has no web clients that pause between downloads"
        accepted = "an experiment with traffic.web and pauses"
        raise InputError(problem, key="--experiment", value=experiment, accepted=accepted)
    network, latencies = read_network(directory)
    if not network.relays:
        file = directory / NETWORK_FILE
        raise InputError("is empty", file=file, key="relays", accepted="one relay or more")
    description.print_description(description.describe(network, latencies, loaded.traffic))
