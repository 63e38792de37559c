"""``torsweep fidelity``: a model against the real thing.

    torsweep fidelity repeat RUN_DIR --out REPEAT_DIR
    torsweep fidelity replay SHADOW_RUN_DIR --out REPLAY_DIR
    torsweep fidelity compare --reference RUN_DIR… --model RUN_DIR… --network NAME --out DIR

In: run directories. Out: run.json for an engine to run; or the tables and the text of a comparison.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

fidelity_app = typer.Typer(help="Compare cellsim with Shadow on the same networks.", no_args_is_help=True)

Original = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The run that it is made from.")]
Out = Annotated[Path, typer.Option(help="Run directory; made where it is missing.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for an engine at work in it instead of refusing.")]
Runs = Annotated[list[Path] | None, typer.Option(help="Finished runs; may be repeated.")]


@fidelity_app.command("repeat")
def repeat_command(original: Original, out: Out, wait: Wait = False) -> None:
    """Prepare a run again with another seed: what lies between the two is chance."""
    from torsweep.fidelity.derive import derive

    run = derive(original, out, replay=False, wait=wait)
    typer.echo(f"{out}: prepared: seed {run.seed}; engine {run.engine}")


@fidelity_app.command("replay")
def replay_command(original: Original, out: Out, wait: Wait = False) -> None:
    """Prepare a run of cellsim on the circuits that tor chose in a run of Shadow."""
    from torsweep.fidelity.derive import derive

    run = derive(original, out, replay=True, wait=wait)
    typer.echo(f"{out}: prepared: the circuits of {len(run.paths or {})} clients; engine {run.engine}")


@fidelity_app.command("compare")
def compare_command(
    network: Annotated[str, typer.Option(help="Name of the network configuration.")],
    out: Annotated[Path, typer.Option(help="Folder for the comparison.")],
    reference: Runs = None,
    model: Runs = None,
    replay: Runs = None,
    reference_repeat: Runs = None,
    model_repeat: Runs = None,
) -> None:
    """Measure how far a model is from its reference, beside what a run leaves to chance."""
    from torsweep.fidelity import matches
    from torsweep.fidelity.report import compare, write_comparison

    comparison = compare(
        matches.match_runs(
            {
                matches.REFERENCE: reference or (),
                matches.MODEL: model or (),
                matches.REPLAY: replay or (),
                matches.REFERENCE_REPEAT: reference_repeat or (),
                matches.MODEL_REPEAT: model_repeat or (),
            }
        ),
        network,
    )
    write_comparison(comparison, out)
    verdicts = comparison.cells["verdict"].value_counts(sort=True)
    typer.echo(f"{out}: " + ", ".join(f"{count} cells {verdict}" for verdict, count in verdicts.iter_rows()))
