"""``torsweep run``: prepare a run directory for an engine, and report on it.

    torsweep run prepare refill_sweep --network DIR --variant refill_interval=10ms --out RUN_DIR

In: the command line. Out: run.json in RUN_DIR; or a line on standard output and an exit code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.engines.contract import engine_names
from torsweep.storage.folders import RUN_FOLDER, OutputFolder

run_app = typer.Typer(help="Prepare runs for an engine, and report on them.", no_args_is_help=True)


@run_app.command("prepare")
def prepare_command(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment, or path of its experiment.yaml.")],
    network: Annotated[Path, typer.Option(help="Network directory, as `torsweep network sample` leaves it.")],
    out: Annotated[
        Path, typer.Option(parser=OutputFolder(RUN_FOLDER), help="Run directory; made where it is missing.")
    ],
    variant: Annotated[
        str, typer.Option(help="knob=level+knob=level; knobs left out have the baseline's level.")
    ] = "",
    engine: Annotated[
        str, typer.Option(help=f"{', '.join(engine_names())}, or auto: the first that can run.")
    ] = "auto",
    era: Annotated[
        str | None, typer.Option(help="2012, 2019 or today; the experiment's when left out.")
    ] = None,
    tor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="File that names the build of the tor NAME, from `torsweep tor build --stamp`; the default"
            " build when left out. May be repeated; without NAME, the tor of most hosts.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a key of experiment.yaml; may be repeated."),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for an engine at work in that folder instead of refusing.")
    ] = False,
) -> None:
    """Write run.json, which says everything an engine needs, into a run directory."""
    from torsweep.config.experiment import load_experiment
    from torsweep.config.reading import parse_settings
    from torsweep.engines.prepare import build_run, require_memory
    from torsweep.engines.registry import find_engine
    from torsweep.engines.run_settings import read_stamps, require_options, run_settings, tor_builds
    from torsweep.engines.run_spec import write_run
    from torsweep.engines.run_tors import RunTors, parted_hosts
    from torsweep.engines.selection import AUTO_ENGINE, choose_engine
    from torsweep.network.model import read_network
    from torsweep.tor.builds import find_build

    loaded = load_experiment(experiment, parse_settings(settings))
    choice = choose_engine(engine, loaded.engines)
    chosen = loaded.variant(variant)
    variant_settings = run_settings(loaded, choice.engine, era or loaded.era, chosen)
    tors = loaded.tors_of(chosen)
    stamps = read_stamps(tor or (), tors.main)
    builds = tor_builds(find_engine(choice.engine), loaded.all_tors, tors.names, stamps)
    if builds:
        # Every bundle of the experiment, so that a wrong one ends the pipeline before its first run.
        builds_of_run = (find_build(version=build) for build in builds.values())
        programs = (build.program for build in builds_of_run if not build.is_arti)
        require_options(programs, loaded, [chosen], read_network(network, latency=False)[0])
    run = build_run(variant_settings, chosen, network, out, RunTors(tors, builds, loaded.bundle(chosen)))
    require_memory(choice.engine, network)
    new = write_run(run, out, wait=wait)
    why = f" ({choice.reason})" if engine == AUTO_ENGINE else ""
    state = "prepared" if new else "was there already"
    typer.echo(f"{out}: {state}: {chosen.key}; era {run.era}; engine {run.engine}{why}")
    for line in parted_hosts(run, network):
        typer.echo(f"  {line}")
