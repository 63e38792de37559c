"""``torsweep run publish`` and ``run bundle``, which gather and pack a plan's results.

In: the command line. Out: a folder, or a zip.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.stats.cli import Settings
from torsweep.storage.folders import PUBLISHED_FOLDER, OutputFile, OutputFolder


def publish_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="The runs of the plan.")],
    tables: Annotated[Path, typer.Option(help="The plan's tables.")],
    summaries: Annotated[Path, typer.Option(help="Its summaries.")],
    figures: Annotated[Path, typer.Option(help="Its figures.")],
    page: Annotated[Path, typer.Option(help="Its page, by `results report`.")],
    experiment: Annotated[Path, typer.Option(help="Its experiment.yaml.")],
    out: Annotated[
        Path,
        typer.Option(
            parser=OutputFolder(PUBLISHED_FOLDER), help="Folder to write; one published before is replaced."
        ),
    ],
    authors: Annotated[
        list[str] | None, typer.Option("--author", help="Who made the results; repeatable.")
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="How they may be used: an SPDX identifier, such as CC-BY-4.0.")
    ] = None,
    settings: Settings = None,
) -> None:
    """Gather all of a plan's results in one folder, with provenance, citation and checksums."""
    from torsweep.bundle.description import Credit
    from torsweep.bundle.publish import Sources, publish
    from torsweep.config.reading import parse_settings

    sources = Sources(tables, summaries, figures, page, experiment, runs)
    publish(sources, Credit.of(authors or (), licence, runs), parse_settings(settings), out)


def bundle_command(
    folder: Annotated[Path, typer.Argument(help="Folder that `run publish` wrote.")],
    out: Annotated[
        Path, typer.Option(parser=OutputFile("Made by torsweep"), help="Zip to write, whole or not at all.")
    ],
) -> None:
    """Pack a published folder as one zip."""
    from torsweep.bundle.publish import pack

    pack(folder, out)
