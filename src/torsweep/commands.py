"""The small commands: ``config``, ``import``, ``doctor``, ``demo``, ``run prepare`` and ``tor build``.

In: the command line. Out: lines on standard output, and what each command writes: an import below
results/imports, run.json in a run directory, a build below results/tools/tor, or the study that ships,
``kist_interval.zip``, which ``python -m bench.demo`` packs: runs of real tor, whose results this torsweep
makes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from torsweep.engines.contract import engine_names
from torsweep.errors import InputError
from torsweep.storage.folders import (
    EXPERIMENT_FILE,
    IMPORT_FOLDER,
    RUN_FOLDER,
    STUDY_FOLDER,
    TOOLS_FOLDER,
    OutputFolder,
)
from torsweep.tor import TOOLS

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
    from torsweep.engines.programs import require_programs
    from torsweep.engines.run_settings import require_known_options
    from torsweep.network.sampling import input_paths
    from torsweep.pipeline.checks import require_answerable, require_fitting_networks

    experiment = load_experiment(file)
    require_answerable(experiment)
    for name in experiment.plan_names:
        require_known_options(experiment, experiment.plan(name).variants, experiment.all_tors.__getitem__)
        require_programs(experiment, experiment.plan(name).variants)
        for config in require_fitting_networks(experiment, name):
            input_paths(config)
    plans = (f"{name} ({len(experiment.plan(name).variants)})" for name in experiment.plan_names)
    typer.echo(f"{file}: an experiment, replicates: {replicates_text(experiment.replicates)}")
    typer.echo(f"  plans (variants): {', '.join(plans)}")
    document = experiment.model_dump(mode="json", exclude_unset=True, by_alias=True)
    for key in ("tors", "options", "programs"):
        for name, section in document.get(key, {}).items():
            typer.echo(f"  {key}.{name}: {json.dumps(section)}")


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
    """Read the logs of simulations made with tornettools."""
    from torsweep.runsets.imported import import_simulations, read_ending
    from torsweep.units import counted

    runs = import_simulations(folders, out).runs
    networks = {run.network or run.folder for run in runs}
    downloads = sum(sum(run.downloads.values()) for run in runs)
    many = f"{counted(len(runs), 'simulation')} of {counted(len(networks), 'network')}"
    known = "" if all(run.network for run in runs) else "; some folders do not name their network"
    typer.echo(f"{out}: {many}, {downloads:,} downloads{known}")
    for log in (ending.log for ending in map(read_ending, folders) if not ending.well and ending.log):
        typer.echo(
            f"torsweep: warning: {log}: says that Shadow failed: some processes may have ended early",
            err=True,
        )


def doctor_command(
    engine: Annotated[
        str | None, typer.Option(help=f"Look at this engine alone: {', '.join(engine_names())}.")
    ] = None,
) -> None:
    """Say which engines can run here, what is missing and which networks fit."""
    from rich.console import Console

    from torsweep.doctor import REQUIRED, diagnose

    if engine is not None and engine not in REQUIRED:
        raise InputError("no such engine", key="--engine", value=engine, accepted=", ".join(REQUIRED))
    can_run = diagnose([engine] if engine is not None else list(REQUIRED), Console())
    raise typer.Exit(0 if can_run else 3)


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
    from torsweep.runsets.plan_tables import PlanTables
    from torsweep.stats.summarize import summarize, write_summary
    from torsweep.storage import write_text

    tables, summaries, figures = (study / plan.stage(each) for each in ("tables", "summaries", "figures"))
    write_summary(summarize(PlanTables.open(tables), experiment), summaries)
    for figure in experiment.figures:
        typer.echo(f"drawing {figure}", err=True)
        draw_figure(figure, summaries, figures / figure)
    networks = sorted((study / "results/networks").glob("*/*"))
    write_text(study / plan.page, render(gather(summaries, figures, file, networks)))


run_app = typer.Typer(help="Prepare runs for an engine, and report on them.", no_args_is_help=True)


@run_app.command("prepare")
def prepare_command(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment, or path of its experiment.yaml.")],
    network: Annotated[Path, typer.Option(help="Network directory, as `torsweep network sample` leaves it.")],
    out: Annotated[
        Path, typer.Option(parser=OutputFolder(RUN_FOLDER), help="Run directory; made where it is missing.")
    ],
    variant: Annotated[
        str, typer.Option(help="knob=level+knob=level; knobs left out have the baseline's level.")
    ] = "",
    engine: Annotated[
        str, typer.Option(help=f"{', '.join(engine_names())}, or auto: the first that can run.")
    ] = "auto",
    era: Annotated[
        str | None, typer.Option(help="2012, 2019 or today; the experiment's when left out.")
    ] = None,
    tor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="File that names the build of the tor NAME, from `torsweep tor build --stamp`; the default"
            " build when left out. May be repeated; without NAME, the tor of most hosts.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replace a key of experiment.yaml; may be repeated."),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for an engine at work in that folder instead of refusing.")
    ] = False,
) -> None:
    """Write run.json, which says everything an engine needs, into a run directory."""
    from torsweep.config.experiment import load_experiment
    from torsweep.config.reading import parse_settings
    from torsweep.engines.host_choice import RunTors, parted_hosts
    from torsweep.engines.prepare import build_run, require_memory
    from torsweep.engines.programs import run_programs
    from torsweep.engines.registry import find_engine
    from torsweep.engines.run_settings import read_stamps, require_options, run_settings, tor_builds
    from torsweep.engines.run_spec import write_run
    from torsweep.engines.selection import AUTO_ENGINE, choose_engine
    from torsweep.network.model import read_network
    from torsweep.tor.builds import find_build

    loaded = load_experiment(experiment, parse_settings(settings))
    choice = choose_engine(engine, loaded.engines)
    chosen = loaded.variant(variant)
    variant_settings = run_settings(loaded, choice.engine, era or loaded.era, chosen)
    tors = loaded.tors_of(chosen)
    stamps = read_stamps(tor or (), tors.main)
    builds = tor_builds(find_engine(choice.engine), loaded.all_tors, tors.names, stamps)
    if builds:
        # Every bundle of the experiment, so that a wrong one ends the pipeline before its first run.
        builds_of_run = (find_build(version=build) for build in builds.values())
        programs = (build.program for build in builds_of_run if not build.is_arti)
        require_options(programs, loaded, [chosen], read_network(network, latency=False)[0])
    run = build_run(variant_settings, chosen, network, out, RunTors(tors, builds, loaded.bundle(chosen)))
    run = run.model_copy(update={"programs": run_programs(loaded, chosen, network, out)})
    require_memory(choice.engine, network)
    new = write_run(run, out, wait=wait)
    why = f" ({choice.reason})" if engine == AUTO_ENGINE else ""
    state = "prepared" if new else "was there already"
    typer.echo(f"{out}: {state}: {chosen.key}; era {run.era}; engine {run.engine}{why}")
    for line in parted_hosts(run, network):
        typer.echo(f"  {line}")


tor_app = typer.Typer(help="Build tor from its release source with the patch series.", no_args_is_help=True)


@tor_app.command("build")
def build_command(
    source: Annotated[
        Path | None, typer.Option(help="Tarball of tor's source; Debian's source package when left out.")
    ] = None,
    git: Annotated[Path | None, typer.Option(help="Git repository of tor, instead of a source.")] = None,
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit; HEAD when left out.")] = None,
    program: Annotated[Path | None, typer.Option(help="A program tor, instead of a source.")] = None,
    arti: Annotated[
        str | None, typer.Option(help="Arti: a version, the path of its git repository, or a program arti.")
    ] = None,
    series: Annotated[
        Literal["project", "none"] | None,
        typer.Option(help="The project's patches, which are for tor 0.4.9, or none of them."),
    ] = None,
    patch: Annotated[list[Path] | None, typer.Option(help="A patch on top; may be repeated.")] = None,
    out: Annotated[
        Path, typer.Option(parser=OutputFolder(TOOLS_FOLDER), help="Folder that builds are kept in.")
    ] = TOOLS,
    jobs: Annotated[int, typer.Option(min=1, help="Compilations at a time.")] = 1,
    sha256: Annotated[
        str | None, typer.Option(help="The checksum that the tarball must have, in hexadecimal.")
    ] = None,
    stamp: Annotated[
        Path | None,
        typer.Option(help="File to name the build in; the build that is taken by default stays as it is."),
    ] = None,
) -> None:
    """Fetch, verify, patch and build tor; nothing is done when that build is there."""
    from torsweep.config.reading import validate
    from torsweep.config.tors import DEBIAN, TorSource
    from torsweep.tor.build import build_tor
    from torsweep.tor.builds import read_stamp

    if stamp is not None and stamp.exists():
        read_stamp(stamp)  # A file that is none is not replaced.
    options = {
        "source": str(source) if source is not None else None,
        "git": git,
        "revision": revision,
        "program": program,
        "arti": arti,
        "series": series,
        "patches": tuple(patch) if patch else None,
        "sha256": sha256.lower() if sha256 is not None else None,
    }
    spec = {key: value for key, value in options.items() if value is not None}
    if not spec.keys() & {"source", "git", "program", "arti"}:
        spec["source"] = DEBIAN
    tor = validate(TorSource, spec, None)
    built = build_tor(tor, out, jobs, stamp=stamp)
    typer.echo(f"{built.program}: tor {built.version}, from {built.provenance['source']}")
