"""Commands that compare finished sets of runs on the same networks, and prepare runs for that.

    torsweep results compare EXPERIMENT [--sources emulation,cellsim+tcp=linux_6_18] --out DIR
    torsweep run repeat RUN_DIR --out REPEAT_DIR
    torsweep run replay RUN_DIR --out REPLAY_DIR

In: finished runs in the tree of results (:mod:`torsweep.compare.sources`), or one of them. Out: the folder of
a comparison (:mod:`torsweep.compare.comparison`); or run.json, for an engine to run. Nothing is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.output_options import OutputFolder
from torsweep.storage.folders import COMPARISON_FOLDER, RUN_FOLDER

Original = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The run that it is made from.")]
Out = Annotated[
    Path, typer.Option(parser=OutputFolder(RUN_FOLDER), help="Run directory; made where it is missing.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for an engine at work in it instead of refusing.")]


def compare_runs_command(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment, or its experiment.yaml.")],
    out: Annotated[
        Path, typer.Option(parser=OutputFolder(COMPARISON_FOLDER), help="Folder for the comparison.")
    ],
    sources: Annotated[
        str | None, typer.Option(help="Reference first, separated by commas; all with runs when left out.")
    ] = None,
    era: Annotated[str | None, typer.Option(help="2012 or today; the experiment's when left out.")] = None,
    plan: Annotated[str, typer.Option(help="Part of the experiment: main or a sensitivity.")] = "main",
    network: Annotated[
        str | None, typer.Option(help="Configuration of the networks; when left out, each source's own.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Seeds to take, FIRST-LAST; else all.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value of experiment.yaml to replace; repeatable.")
    ] = None,
) -> None:
    """Measure how far sources are apart, compared with chance, and which verdicts and contrasts survive."""
    from torsweep.compare.comparison import compare, write_comparison
    from torsweep.compare.sources import (
        finished_sources,
        parse_sources,
        read_sources,
        require_same_networks,
    )
    from torsweep.compare.text import comparison_text, counts, title
    from torsweep.config.experiment import load_experiment
    from torsweep.config.reading import parse_settings
    from torsweep.seeds import seed_range

    asked = load_experiment(experiment, {**parse_settings(settings), **({"era": era} if era else {})})
    require_same_networks(asked)
    chosen = asked.plan(plan)
    compared = parse_sources(sources) if sources else finished_sources(asked, chosen, network)
    limits = None if seeds is None else seed_range(seeds)
    comparison = compare(read_sources(compared, asked, chosen, network, limits), asked, chosen)
    write_comparison(comparison, comparison_text(comparison), out)
    typer.echo(f"{out}: {title(comparison.origin)}. {' '.join(counts(comparison))}")


def repeat_command(original: Original, out: Out, wait: Wait = False) -> None:
    """Prepare a run again with another seed: the two differ by chance alone."""
    from torsweep.compare.derive import derive

    run = derive(original, out, replay=False, wait=wait)
    typer.echo(f"{out}: prepared: seed {run.seed}; engine {run.engine}")


def replay_command(original: Original, out: Out, wait: Wait = False) -> None:
    """Prepare a run of cellsim on the circuits that tor used in the measured time of a run of Shadow."""
    from torsweep.compare.derive import derive

    run = derive(original, out, replay=True, wait=wait)
    typer.echo(f"{out}: prepared: the circuits of {len(run.paths or {})} clients; engine {run.engine}")
