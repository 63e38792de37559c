"""``torsweep new``: a study with an example in it.

In: the command line. Out: a folder, and on standard output the command that comes next.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.output_options import OutputFolder
from torsweep.storage.folders import STUDY

EXAMPLE = "kist_interval"
"""What the example is called."""


def new_command(
    study: Annotated[
        Path,
        typer.Argument(parser=OutputFolder(STUDY), metavar="STUDY", help="A new or empty folder."),
    ],
    experiment_name: Annotated[
        str, typer.Option(help="The name of its experiment: lower-case letters, digits and _.")
    ] = EXAMPLE,
) -> None:
    """Make a study: a folder with an experiment to edit, in which `snakemake` plays it."""
    from torsweep.study.new import new_study

    new_study(study, experiment_name)
    typer.echo(f"{study}: edit experiments/{experiment_name}/experiment.yaml; README.md has the commands")
