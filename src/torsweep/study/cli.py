"""``torsweep new``: a study to edit. ``torsweep compare``: one change of tor against tor as it was, from one
command to a verdict.

    torsweep new ../my-study
    torsweep compare --candidate patch:kist-idle.patch --within '1 h'
    torsweep compare --consensus cc_alg=0 --engine shadow --network laptop

In: the command line. Out of ``new``: a study with an example (:mod:`torsweep.study.new`). Out of ``compare``:
a study (:mod:`torsweep.study.document`) with all that the pipeline makes in it, and the answer as a table or
JSON; with ``--dry-run`` the plan, and no file.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torsweep.errors import InputError
from torsweep.storage.folders import STUDY_FOLDER, OutputFolder

if TYPE_CHECKING:
    from rich.console import Console

    from torsweep.study.request import Prepared
    from torsweep.study.workload import Workload

Texts = list[str] | None

IMPORT_PREFIX = "import:"
"""Begins the name of an import on the command line."""


class FailIf(StrEnum):
    """What may end a job of continuous integration."""

    SHOWN = "shown"
    WORSE = "worse"
    INCONCLUSIVE = "inconclusive"


EXAMPLE = "kist_interval"
"""What the example of ``torsweep new`` is called."""


def new_command(
    study: Annotated[
        Path,
        typer.Argument(parser=OutputFolder(STUDY_FOLDER), metavar="STUDY", help="A new or empty folder."),
    ],
    experiment_name: Annotated[
        str, typer.Option(help="The name of its experiment: lower-case letters, digits and _.")
    ] = EXAMPLE,
    engine: Annotated[
        str | None,
        typer.Option(help="The engine of its experiment, such as cellsim; those of real tor when left out."),
    ] = None,
) -> None:
    """Make a study: a folder with an experiment to edit, for `snakemake` to run."""
    from torsweep.study.new import new_study

    new_study(study, experiment_name, engine)
    typer.echo(f"{study}: edit experiments/{experiment_name}/experiment.yaml; README.md has the commands")


def compare_command(
    context: typer.Context,
    candidate: Annotated[
        str | None,
        typer.Option(
            help="The tor to judge: PATH@REVISION of a git repository, patch:FILE, a tarball of source, a"
            " program; arti or arti@VERSION, for clients; or `same`, to see what chance alone does. Of"
            " imports: import:NAME."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="What it is compared with, in the same forms, or `debian`. When left out: the commit where a"
            " candidate of git left the main branch; else Debian's tor."
        ),
    ] = None,
    torrc: Annotated[
        Texts, typer.Option(metavar="'OPTION VALUE'", help="A line of torrc to judge; repeatable.")
    ] = None,
    consensus: Annotated[
        Texts, typer.Option(metavar="NAME=VALUE", help="A consensus parameter to judge; repeatable.")
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            help="The hosts that get the candidate or the lines, such as role=relay,share=0.3; else all."
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="emulation or shadow; auto: the first that can run, where the network fits.")
    ] = "auto",
    network: Annotated[
        Texts,
        typer.Option(
            metavar="NAME|FOLDER",
            help="Configuration of the networks, eight_relays when left out. Or a network that"
            " `tornettools generate` made; repeatable.",
        ),
    ] = None,
    networks: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="How many networks, 8 when left out; a later call can add more, with wider intervals. For"
            " one network of tornettools: how many seeds.",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="In place of --networks: as many, measured as long, as show the smallest change in it.",
        ),
    ] = None,
    shows: Annotated[
        str | None,
        typer.Option(
            metavar="CHANGE",
            help="In place of --networks: as many as are likely to show this change, such as 5%.",
        ),
    ] = None,
    era: Annotated[str | None, typer.Option(help="2012, 2019 or today; today when left out.")] = None,
    warm_up: Annotated[
        str | None,
        typer.Option(
            help="Time before downloads count; when left out, 30 s, or what a tornettools network has."
        ),
    ] = None,
    measured: Annotated[
        str | None,
        typer.Option(
            help="Time in which downloads count; when left out, 2 min, or what a tornettools network has."
        ),
    ] = None,
    pairing: Annotated[
        str | None,
        typer.Option(
            help="paths: both sides take the same paths; free: tor chooses them, for changes of paths,"
            " guards or circuits. When left out, paths where the change allows it."
        ),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="The measure that the comparison is about, such as 'large downloads, last byte': it shows"
            " smaller changes then, and the others larger ones.",
        ),
    ] = None,
    first_seed: Annotated[
        str | None,
        typer.Option(metavar="N", help="Seed of the first network; 1 when left out."),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            parser=OutputFolder(STUDY_FOLDER),
            help="Folder of the study; below torsweep-studies when left out.",
        ),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(min=1, help="Cores to use; all of this machine's when left out.")
    ] = None,
    tor_metrics: Annotated[
        Path | None,
        typer.Option(help="Of imports: a tor_metrics file of tornettools about public Tor."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it would take, and stop.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the answer as JSON; all else goes to standard error.")
    ] = False,
    fail_if: Annotated[
        list[FailIf] | None,
        typer.Option(
            help="End with exit code 1 where this is so for any kind of client; repeatable, for"
            " continuous integration."
        ),
    ] = None,
) -> None:
    """Compare a change of tor with tor as it was, on the same networks, and say what clients notice."""
    if are_imports(candidate, baseline):
        _require_alone(context)
        from torsweep.study.imports import compare_imports

        summary = compare_imports(str(candidate), str(baseline), warm_up, tor_metrics, _console())
        typer.echo(f"summary: {summary}")
        return
    from torsweep.study.request import Request

    prepared = Request.read(context.params).prepare()
    for line in prepared.notes:
        typer.echo(f"torsweep: {line}", err=True)
    if dry_run and as_json:
        raise InputError("is the answer, which --dry-run has not", key="--json", accepted="one of the two")
    if plan := _play(prepared, dry_run):
        _print_result(plan, prepared.about, as_json, fail_if or [])


def _play(prepared: Prepared, dry_run: bool) -> Workload | None:
    """Play what is ``prepared``; or print its plan, and return None."""
    from torsweep.engines.selection import lacking, require_engine
    from torsweep.pipeline.checks import require_fitting_networks
    from torsweep.study.workload import Workload, plan_lines, require_options, share_builds
    from torsweep.tor.build import require_buildable

    play, why = prepared.play, prepared.why
    play.study.require_same()
    require_options(play.study, play.study.experiment())
    if play.study.tornets is None:
        require_fitting_networks(play.study.experiment())
    plan = Workload(play)
    if dry_run:
        if lack := lacking(play.engine, builds=False):
            typer.echo(f"torsweep: {play.engine} cannot run here: {lack}", err=True)
        typer.echo("\n".join([prepared.about, *plan_lines(plan, why)]))
        return None
    require_engine(play.engine)
    require_buildable(plan.missing.values())
    network = play.study.document["network"]
    typer.echo(f"torsweep: {play.engine}, on {network}: {why}", err=True)
    typer.echo(f"torsweep: the study is {play.study.folder}", err=True)
    play.study.write()
    share_builds(play.study)
    play.run()
    return plan


def are_imports(candidate: str | None, baseline: str | None) -> bool:
    """Whether imports are to be compared; InputError where only one side is one."""
    sides = {"--candidate": candidate, "--baseline": baseline}
    others = {name: text for name, text in sides.items() if not (text or "").startswith(IMPORT_PREFIX)}
    if len(others) == 1:
        ((key, value),) = others.items()
        accepted = f"{IMPORT_PREFIX}NAME"
        raise InputError("the other side is an import", key=key, value=value, accepted=accepted)
    return not others


def _require_alone(context: typer.Context) -> None:
    """Raise InputError for an option of a comparison that runs tor, beside two imports."""
    for option in context.command.params:
        name = str(option.name)
        source = context.get_parameter_source(name)
        stated = source is not None and source.name == "COMMANDLINE"
        if stated and name not in ("candidate", "baseline", "warm_up", "tor_metrics"):
            value = context.params[name]
            shown = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            problem, accepted = "is not for imports, of which nothing is run", "--warm-up and --tor-metrics"
            raise InputError(problem, key=option.opts[0], value=shown, accepted=accepted)


def _console(stderr: bool = False) -> Console:
    """A file or a pipe has no width of its own."""
    from rich.console import Console

    return Console(stderr=stderr, width=None if sys.stdout.isatty() else 110)


def _print_result(plan: Workload, about: str, as_json: bool, fail_if: list[FailIf]) -> None:
    """Print the verdict and what comes next, and keep that it has been seen.

    Raises Exit where the verdict is one of ``fail_if``.
    """
    from torsweep.stats.claims import claims_of
    from torsweep.stats.inference.interim import Design, record_look
    from torsweep.study.answer import answer_of, print_verdict
    from torsweep.study.request import next_line

    play, experiment = plan.play, plan.experiment
    tornets = play.study.tornets
    over = () if tornets is None else (tornets.over(len(experiment.seeds)), tornets.unit)
    said = print_verdict(play.summary, claims_of(experiment), about, _console(as_json), *over)
    record_look(play.study.file, Design.of(experiment), len(said.networks))
    if plan.blind:
        typer.echo(f"blind to  {plan.blind}", err=as_json)
    if said.step is not None:
        typer.echo(f"next: {next_line(plan, said.step)}", err=as_json)
    answer = answer_of(plan, said, about)
    typer.echo(f"page: {play.page}\nto paste: {answer.write(play.page)}", err=as_json)
    if as_json:
        typer.echo(answer.json_text())
    if answer.fails(fail_if):
        raise typer.Exit(1)
