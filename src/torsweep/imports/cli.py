"""``torsweep import``: results of tornettools in the tables of torsweep, and two sets of them compared.

    torsweep import tornettools tornet-1 tornet-2 … --as vanilla
    torsweep import compare vanilla my-branch --tor-metrics tor_metrics_2024-05.json

In: folders of simulations; two imports. Out: an import (:mod:`torsweep.imports.stored`) below
results/imports; a comparison (:mod:`torsweep.imports.compare`), and a table on standard output.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from torsweep.storage.folders import IMPORT_FOLDER, IMPORTS_COMPARED_FOLDER, OutputFolder

import_app = typer.Typer(
    help="Import results of tornettools as tables of torsweep, and compare two imports.", no_args_is_help=True
)

IMPORTS = Path("results/imports")
COMPARED = Path("results/compare/imports")


def _place(value: str | Path) -> Path:
    """An import's folder: a name stands below results/imports."""
    return IMPORTS / value if Path(value).name == str(value) else Path(value)


class _Named(OutputFolder):
    """The folder of an import, by its name or path."""

    def __call__(self, value: str | Path) -> Path:
        """The folder. Raises OutputError when it may not be written."""
        return super().__call__(_place(value))


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
            help="Its name below results/imports, or a folder.",
        ),
    ],
) -> None:
    """Read simulations made with tornettools, from logs or from what `tornettools parse` left of them."""
    from torsweep.imports.stored import import_simulations

    runs = import_simulations(folders, out).runs
    networks = {run.network or run.folder for run in runs}
    downloads = sum(sum(run.downloads.values()) for run in runs)
    many = (
        f"{len(runs)} simulation{'s' * (len(runs) > 1)} of {len(networks)} network{'s' * (len(networks) > 1)}"
    )
    known = "" if all(run.network for run in runs) else "; some folders do not name their network"
    typer.echo(f"{out}: {many}, {downloads:,} downloads{known}")


Name = Annotated[Path, typer.Argument(parser=_place, help="Name of an import, or its folder.")]


@import_app.command("compare")
def compare_imports_command(
    baseline: Name,
    candidate: Name,
    warm_up: Annotated[
        str, typer.Option(help="Time from the start in which nothing counts; tornettools' when left out.")
    ] = "20 min",
    tor_metrics: Annotated[
        Path | None,
        typer.Option(help="tor_metrics file of tornettools, or OnionPerf's: drawn as public Tor."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=OutputFolder(IMPORTS_COMPARED_FOLDER),
            help="Folder; below results/compare/imports when left out.",
        ),
    ] = None,
) -> None:
    """Compare two imports: paired where their networks are the same, otherwise as two samples."""
    from rich.console import Console

    from torsweep.imports.compare import compare_imports, print_comparison, write_comparison
    from torsweep.imports.stored import open_import
    from torsweep.pipeline.figures import figure_module

    compared = compare_imports(open_import(baseline), open_import(candidate), warm_up, tor_metrics)
    place = out or COMPARED / f"{compared.baseline}_vs_{compared.candidate}"
    write_comparison(compared, place)
    for figure in ("ttfb", "ttlb"):
        figure_module("pictures.imports").draw_figure(figure, place, place / "figures" / figure)
    # A file or a pipe has no width of its own.
    print_comparison(compared, Console(width=None if sys.stdout.isatty() else 110))
    typer.echo(f"summary and figures: {place}")
