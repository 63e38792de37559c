"""``torsweep fidelity``: an engine against another, a model against the real thing.

    torsweep fidelity repeat RUN_DIR --out REPEAT_DIR
    torsweep fidelity replay RUN_DIR --out REPLAY_DIR
    torsweep fidelity compare EXPERIMENT --network NAME [--reference shadow-no-rtt] --out DIR [RUN_DIR...]

In: run directories; without any, ``compare`` takes all finished runs in the tree of results
(:mod:`torsweep.fidelity.places`). Out: run.json for an engine to run; or the tables and the text of a
comparison.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.output_options import OutputFolder
from torsweep.storage.folders import COMPARISON, RUN

fidelity_app = typer.Typer(help="Compare two engines on the same networks.", no_args_is_help=True)

Original = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The run that it is made from.")]
Out = Annotated[Path, typer.Option(parser=OutputFolder(RUN), help="Run directory; made where it is missing.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for an engine at work in it instead of refusing.")]


@fidelity_app.command("repeat")
def repeat_command(original: Original, out: Out, wait: Wait = False) -> None:
    """Prepare a run again with another seed: what lies between the two is chance."""
    from torsweep.compare.derive import derive

    run = derive(original, out, replay=False, wait=wait)
    typer.echo(f"{out}: prepared: seed {run.seed}; engine {run.engine}")


@fidelity_app.command("replay")
def replay_command(original: Original, out: Out, wait: Wait = False) -> None:
    """Prepare a run of cellsim on the circuits that tor used in the measured time of a run of Shadow."""
    from torsweep.compare.derive import derive

    run = derive(original, out, replay=True, wait=wait)
    typer.echo(f"{out}: prepared: the circuits of {len(run.paths or {})} clients; engine {run.engine}")


@fidelity_app.command("compare")
def compare_command(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment, or its experiment.yaml.")],
    network: Annotated[str, typer.Option(help="Name of the network configuration.")],
    out: Annotated[Path, typer.Option(parser=OutputFolder(COMPARISON), help="Folder for the comparison.")],
    era: Annotated[str | None, typer.Option(help="2012 or today; the experiment's when left out.")] = None,
    plan: Annotated[str, typer.Option(help="Part of the experiment: main or a sensitivity.")] = "main",
    model: Annotated[
        str, typer.Option(help="The engine that is judged; cellsim+tcp=linux names its TCP.")
    ] = "cellsim",
    reference: Annotated[str, typer.Option(help="The engine that it is judged by.")] = "shadow",
    seeds: Annotated[str, typer.Option(help="Networks to compare on, FIRST-LAST.")] = "1-200",
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN_DIR]...", help="Runs to compare; else all finished.")
    ] = None,
) -> None:
    """Measure how far an engine is from another in the finished runs below results/, beside chance."""
    from torsweep.config.experiment import load_experiment
    from torsweep.fidelity.matches import match_runs
    from torsweep.fidelity.places import Pair, finished_runs
    from torsweep.fidelity.report import compare, write_comparison
    from torsweep.pipeline.paths import PlanPath
    from torsweep.seeds import seed_range

    loaded = load_experiment(experiment)
    pair = Pair.named(model, reference)
    pair.check()
    place = PlanPath(loaded.name, pair.folder, era or loaded.era, network, plan)
    finished = finished_runs(pair, place, loaded.plan(plan).variants, seed_range(seeds))
    found = {one: [run for run in own if not runs or run in runs] for one, own in finished.items()}
    comparison = compare(match_runs(found), network)
    write_comparison(comparison, out)
    verdicts = comparison.cells["verdict"].value_counts(sort=True)
    typer.echo(f"{out}: " + ", ".join(f"{count} cells {verdict}" for verdict, count in verdicts.iter_rows()))
