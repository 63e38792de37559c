"""``torsweep import``: runs that others made.

    torsweep import tornettools tornet-1 tornet-2 … --as vanilla

In: folders of simulations. Out: an import (:mod:`torsweep.runsets.imported`) below results/imports.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.errors import InputError
from torsweep.storage.folders import IMPORT_FOLDER, OutputFolder

import_app = typer.Typer(help="Import results of tornettools as tables of torsweep.", no_args_is_help=True)

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
