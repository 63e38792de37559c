"""The small commands: ``config``, ``import``, ``doctor`` and ``demo``.

In: the command line. Out: lines on standard output, and what each command writes: an import below
results/imports (:mod:`torsweep.runsets.imported`), or the study that ships, ``kist_interval.zip``, which
``python -m bench.demo`` packs: runs of real tor with the summary, figures and page that this torsweep makes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torsweep.engines.contract import engine_names
from torsweep.errors import InputError
from torsweep.storage.folders import EXPERIMENT_FILE, IMPORT_FOLDER, STUDY_FOLDER, OutputFolder

config_app = typer.Typer(help="Check configuration files and list the knobs.", no_args_is_help=True)


@config_app.command("knobs")
def knobs_command() -> None:
    """List the knobs: what each changes, the levels it accepts, its level in each era."""
    from torsweep.config.eras import ERAS
    from torsweep.config.knobs import KNOBS

    for knob in KNOBS.values():
        typer.echo(f"{knob.name}\n  {knob.meaning}\n  accepted: {knob.levels.accepted}")
        if knob.of_tor:
            typer.echo("  " + "; ".join(f"{era}: {knob.usual_in(era)}" for era in ERAS))


@config_app.command("check")
def check_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Networks or experiments, in YAML.")],
) -> None:
    """Say what each file configures, or stop at the first thing wrong."""
    from torsweep.config.network import load_network_config
    from torsweep.formats.yaml_file import read_yaml
    from torsweep.network.sampling import input_paths

    for file in files:
        # Only experiments ask a question; a file that is neither is told what a network lacks.
        if file.name == EXPERIMENT_FILE or "question" in read_yaml(file):
            _check_experiment(file)
        else:
            network = load_network_config(file)
            input_paths(network)
            relays = f"{network.relay_count} of them relays"
            typer.echo(f"{file}: a network of {network.host_count} hosts, {relays}")


def _check_experiment(file: Path) -> None:
    from torsweep.config.experiment import load_experiment
    from torsweep.config.replicates import replicates_text
    from torsweep.engines.run_settings import require_known_options
    from torsweep.network.sampling import input_paths
    from torsweep.pipeline.checks import require_answerable, require_fitting_networks

    experiment = load_experiment(file)
    require_answerable(experiment)
    for name in experiment.plan_names:
        require_known_options(experiment, experiment.plan(name).variants, experiment.all_tors.__getitem__)
        for config in require_fitting_networks(experiment, name):
            input_paths(config)
    plans = (f"{name} ({len(experiment.plan(name).variants)})" for name in experiment.plan_names)
    typer.echo(f"{file}: an experiment, replicates: {replicates_text(experiment.replicates)}")
    typer.echo(f"  plans (variants): {', '.join(plans)}")
    for key, sections in (("tors", experiment.tors), ("options", experiment.options)):
        for name, section in sections.items():
            keys = section.model_dump(mode="json", exclude_unset=True)
            typer.echo(f"  {key}.{name}: {json.dumps(keys)}")


import_app = typer.Typer(help="Import results of tornettools as tables of torsweep.", no_args_is_help=True)


class _Named(OutputFolder):
    """The folder of an import, by its name or path."""

    def __call__(self, value: str | Path) -> Path:
        """The folder. Raises OutputError when it may not be written."""
        from torsweep.runsets.imported import import_folder

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


def doctor_command(
    engine: Annotated[
        str | None, typer.Option(help=f"Look at this engine alone: {', '.join(engine_names())}.")
    ] = None,
) -> None:
    """Say which engines can run here, what is missing and how large a network may be."""
    from rich.console import Console

    from torsweep.doctor import REQUIRED, diagnose

    if engine is not None and engine not in REQUIRED:
        raise InputError("no such engine", key="--engine", value=engine, accepted=", ".join(REQUIRED))
    diagnosis = diagnose([engine] if engine is not None else list(REQUIRED))
    diagnosis.show(Console())
    raise typer.Exit(0 if any(outlook.can_run for outlook in diagnosis.outlooks) else 3)


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

    from torsweep.bundle import require_whole
    from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, load_experiment
    from torsweep.formats.archives import unpack_zip
    from torsweep.pipeline.tree import PlanPath
    from torsweep.stats.claims import claims_of
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
    from torsweep.report import gather, render
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
