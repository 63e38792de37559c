"""``torsweep results report``: one page with the results of a plan.

In: the command line. Out: an HTML file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.stats.cli import Settings
from torsweep.storage.folders import OutputFile


def report_command(
    summaries: Annotated[Path, typer.Argument(help="Folder that `results summarize` wrote.")],
    networks: Annotated[list[Path], typer.Argument(metavar="NETWORK_DIR...", help="The plan's networks.")],
    figures: Annotated[Path, typer.Option(help="The plan's figures.")],
    experiment: Annotated[Path, typer.Option(help="Its experiment.yaml.")],
    out: Annotated[
        Path,
        typer.Option(parser=OutputFile("torsweep-report"), help="HTML file to write, whole or not at all."),
    ],
    settings: Settings = None,
) -> None:
    """Write one self-contained page: claims and verdicts, figures, tables, networks, how to repeat it."""
    from torsweep.config.reading import parse_settings
    from torsweep.report.page import gather, render
    from torsweep.storage import write_text

    replaced = parse_settings(settings)
    page = gather(summaries, figures, experiment, networks, replaced)
    write_text(out, render(page))
