"""``torsweep demo``: results of real tor to look at, without running it.

In: kist_interval.zip, which ``python -m bench.demo`` packs: a study of `torsweep compare` with its tables,
the networks of its runs, and a checksum of each file. Out: the study as a folder, with the summary, figures
and page that this torsweep makes of them; on standard output what they say, where they are, and what to type
next.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.storage.folders import EXPERIMENT_FILE, STUDY_FOLDER, OutputFolder

BUNDLE = Path(__file__).with_name("kist_interval.zip")
EXAMPLE = "torsweep compare --torrc 'KISTSchedRunInterval 100 msec' --on role=relay"


def demo_command(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", parser=OutputFolder(STUDY_FOLDER), help="Folder to write; a demo is replaced."
        ),
    ] = Path("torsweep-demo"),
) -> None:
    """Show what a comparison leaves: a study of real tor that ships, its page and figures (a minute)."""
    from rich.console import Console

    from torsweep.bundle.verify import check_files
    from torsweep.config.experiment import load_experiment
    from torsweep.errors import InputError
    from torsweep.formats.archives import unpack_zip
    from torsweep.storage import whole_directory
    from torsweep.study.verdict import print_verdict

    with whole_directory(out, STUDY_FOLDER) as folder:
        unpack_zip(BUNDLE, folder)
        found = check_files(folder)
        if found.problems:
            raise InputError(found.problems[0], file=BUNDLE)
        typer.echo(f"{BUNDLE.name}: {found.lines[-1]}")
        place = next(folder.glob("results/tables/*/*/*/*/main")).relative_to(folder / "results/tables")
        experiment_file = folder / "experiments" / place.parts[0] / EXPERIMENT_FILE
        make_results(folder / "results", place, experiment_file)
        experiment = load_experiment(experiment_file)
        title = experiment.report.title
        print_verdict(folder / "results/summaries" / place, experiment, title, Console(width=110))
    page = out / "results/reports" / place / f"{place.parts[0]}.html"
    for name, text in (
        ("page", str(page)),
        ("figures", f"{out / 'results/figures' / place}/"),
        ("next", f"{EXAMPLE} --dry-run"),
        ("", "torsweep doctor: whether real tor can run here"),
        ("", f"python: import torsweep; torsweep.load('{out}')"),
    ):
        typer.echo(f"{name:<9} {text}")


def make_results(results: Path, place: Path, experiment_file: Path) -> None:
    """Summary, figures and page of the plan at ``place`` (the path below a stage) of ``results``."""
    from torsweep.config.experiment import load_experiment
    from torsweep.pipeline.figures import draw_figure
    from torsweep.report.page import gather, render
    from torsweep.runsets.reading import PlanTables
    from torsweep.stats.summarize import summarize, write_summary
    from torsweep.storage import write_text

    experiment = load_experiment(experiment_file)
    tables, summaries, figures = (results / stage / place for stage in ("tables", "summaries", "figures"))
    write_summary(summarize(PlanTables.open(tables), experiment), summaries)
    for figure in experiment.figures:
        typer.echo(f"drawing {figure}", err=True)
        draw_figure(figure, summaries, figures / figure)
    networks = sorted((results / "networks").glob("*/*"))
    page = render(gather(summaries, figures, experiment_file, networks))
    write_text(results / "reports" / place / f"{place.parts[0]}.html", page)
