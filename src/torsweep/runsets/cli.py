"""Commands that leave run folders: what others made, and a run again.

    torsweep import tornettools tornet-1 tornet-2 … --as vanilla
    torsweep run repeat RUN_DIR --out REPEAT_DIR

In: folders of simulations; or a finished run. Out: an import (:mod:`torsweep.runsets.imported`) below
results/imports; or run.json, for an engine to run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.errors import InputError
from torsweep.storage.folders import IMPORT_FOLDER, RUN_FOLDER, OutputFolder

import_app = typer.Typer(help="Import results of tornettools as tables of torsweep.", no_args_is_help=True)

Original = Annotated[Path, typer.Argument(metavar="RUN_DIR", help="The run that it is made from.")]
Out = Annotated[
    Path, typer.Option(parser=OutputFolder(RUN_FOLDER), help="Run directory; made where it is missing.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for an engine at work in it instead of refusing.")]


def repeat_command(original: Original, out: Out, wait: Wait = False) -> None:
    """Prepare a run again with another seed: the two differ by chance alone."""
    from torsweep.runsets.derive import repeat_run

    run = repeat_run(original, out, wait=wait)
    typer.echo(f"{out}: prepared: seed {run.seed}; engine {run.engine}")


IMPORTS = Path("results/imports")


def import_folder(value: str | Path) -> Path:
    """An import's folder: a name stands below results/imports; InputError for no name at all."""
    if not str(value).strip():
        raise InputError("is empty", key="--as", accepted="a name, or a folder")
    return IMPORTS / value if Path(value).name == str(value) else Path(value)


class _Named(OutputFolder):
    """The folder of an import, by its name or path."""

    def __call__(self, value: str | Path) -> Path:
        """The folder. Raises OutputError when it may not be written."""
        return super().__call__(import_folder(value))


@import_app.command("tornettools")
def import_command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Folders that tornettools has simulated.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--as",
            metavar="NAME",
            parser=_Named(IMPORT_FOLDER),
            help="Name of the import, a folder below results/imports; or the path of a folder.",
        ),
    ],
) -> None:
    """Read simulations made with tornettools, from logs or from what `tornettools parse` left of them."""
    from torsweep.runsets.imported import failure, import_simulations

    runs = import_simulations(folders, out).runs
    networks = {run.network or run.folder for run in runs}
    downloads = sum(sum(run.downloads.values()) for run in runs)
    many = (
        f"{len(runs)} simulation{'s' * (len(runs) > 1)} of {len(networks)} network{'s' * (len(networks) > 1)}"
    )
    known = "" if all(run.network for run in runs) else "; some folders do not name their network"
    typer.echo(f"{out}: {many}, {downloads:,} downloads{known}")
    for log in filter(None, map(failure, folders)):
        typer.echo(
            f"torsweep: warning: {log}: says that Shadow failed: some processes may have ended early",
            err=True,
        )
