"""``torsweep run publish``: gather what goes out of a plan in one folder.

In: the command line. Out: the folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.errors import InputError
from torsweep.output_options import OutputFolder
from torsweep.storage.folders import PUBLISHED


def publish_command(
    summaries: Annotated[Path, typer.Argument(help="A plan's summaries; its place in the tree names it.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="The runs of the plan.")],
    figures: Annotated[Path, typer.Option(help="The plan's figures.")],
    experiment: Annotated[Path, typer.Option(help="Its experiment.yaml.")],
    out: Annotated[
        Path,
        typer.Option(
            parser=OutputFolder(PUBLISHED), help="Folder to write; one published before is replaced."
        ),
    ],
) -> None:
    """Gather figures, summaries and provenance of a plan in one folder, with checksums."""
    from torsweep.pipeline.publish import publish
    from torsweep.pipeline.results_tree import Place

    names = summaries.parts[-5:]
    if len(names) < 5:
        raise InputError(
            "does not say whose summaries these are",
            file=summaries,
            accepted="a folder such as summaries/EXPERIMENT/ENGINE/ERA/NETWORK/PLAN",
        )
    publish(Place(*names), experiment, summaries, figures, runs, out)
