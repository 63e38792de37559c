"""``torsweep demo``: results of real tor to look at, without running it.

In: kist_interval.zip, which ``python -m bench.demo`` packs: a study of `torsweep compare` with its tables,
the networks of its runs, and a checksum of each file. Out: the study as a folder, with the summary, figures
and page that this torsweep makes of them; on standard output what they say, where they are, and what to type
next.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torsweep.storage.folders import EXPERIMENT_FILE, STUDY_FOLDER, OutputFolder

if TYPE_CHECKING:
    from torsweep.config.experiment import Experiment
    from torsweep.pipeline.tree import PlanPath

BUNDLE = Path(__file__).with_name("kist_interval.zip")
NEXT_COMMAND = "torsweep compare --torrc 'KISTSchedRunInterval 100 msec' --on role=relay"


def demo_command(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", parser=OutputFolder(STUDY_FOLDER), help="Folder to write; a demo is replaced."
        ),
    ] = Path("torsweep-demo"),
) -> None:
    """Show what a comparison leaves: a study of real tor that ships, its page and figures (20 s)."""
    from rich.console import Console

    from torsweep.bundle.description import require_whole
    from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, load_experiment
    from torsweep.formats.archives import unpack_zip
    from torsweep.pipeline.tree import PlanPath
    from torsweep.stats.claims.claim import claims_of
    from torsweep.storage import whole_directory
    from torsweep.study.answer import print_verdict

    with whole_directory(out, STUDY_FOLDER) as folder:
        unpack_zip(BUNDLE, folder)
        require_whole(folder)
        tables = next(folder.glob("results/tables/*/*/*/*/*"))
        plan = PlanPath(*tables.parts[-5:])
        file = folder / EXPERIMENTS_DIRECTORY / plan.experiment / EXPERIMENT_FILE
        experiment = load_experiment(file)
        _make_results(folder, plan, experiment, file)
        summary, title = folder / plan.stage("summaries"), experiment.report.title
        print_verdict(summary, claims_of(experiment), title, Console(width=110))
    for name, text in (
        ("page", str(out / plan.page)),
        ("figures", f"{out / plan.stage('figures')}/"),
        ("next", f"{NEXT_COMMAND} --dry-run"),
        ("", "torsweep doctor: whether real tor can run here"),
        ("", f"python: import torsweep; torsweep.load('{out}')"),
    ):
        typer.echo(f"{name:<9} {text}")


def _make_results(study: Path, plan: PlanPath, experiment: Experiment, file: Path) -> None:
    """Summary, figures and page of ``plan`` in the folder ``study``; ``file`` has its ``experiment``."""
    from torsweep.pipeline.figures import draw_figure
    from torsweep.report.page import gather, render
    from torsweep.runsets.reading import PlanTables
    from torsweep.stats.summarize import summarize, write_summary
    from torsweep.storage import write_text

    tables, summaries, figures = (study / plan.stage(each) for each in ("tables", "summaries", "figures"))
    write_summary(summarize(PlanTables.open(tables), experiment), summaries)
    for figure in experiment.figures:
        typer.echo(f"drawing {figure}", err=True)
        draw_figure(figure, summaries, figures / figure)
    networks = sorted((study / "results/networks").glob("*/*"))
    write_text(study / plan.page, render(gather(summaries, figures, file, networks)))
