"""``torsweep results``: gather runs, summarise them, judge the claims.

    torsweep results collect --network NAME [--plan main] [--replicates JSON] --out TABLES_DIR RUN_DIR...
    torsweep results summarize EXPERIMENT --tables TABLES_DIR --out SUMMARIES_DIR [--set KEY=VALUE]

``torsweep results draw`` draws from a summary.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.storage.folders import SUMMARIES_FOLDER, TABLES_FOLDER, OutputFolder

results_app = typer.Typer(
    help="Gather runs into tables, summarise them and judge the claims.", no_args_is_help=True
)


@results_app.command("collect")
def collect_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="Finished runs of one plan.")],
    out: Annotated[
        Path,
        typer.Option(parser=OutputFolder(TABLES_FOLDER), help="Folder for the tables."),
    ],
    network: Annotated[str, typer.Option(help="Name of the network configuration.")],
    plan: Annotated[str, typer.Option(help="Part of the experiment: main or a sensitivity.")] = "main",
    replicates: Annotated[
        str | None, typer.Option(help='Numbers of networks by level: {"scale": {"0.05": 4}}; else all alike.')
    ] = None,
    sources: Annotated[
        str | None, typer.Option(help="What made the runs, between commas, the reference first: A,B.")
    ] = None,
) -> None:
    """Gather finished runs into one table each of streams, relays and progress."""
    from torsweep.config.replicates import SAME_FOR_ALL, read_replicates
    from torsweep.runsets.collect import collect
    from torsweep.runsets.sources import open_runs, parse_sources

    numbers = SAME_FOR_ALL if replicates is None else read_replicates(replicates)
    opened = runs if sources is None else open_runs(runs, parse_sources(sources))
    provenance = collect(opened, out, network=network, plan=plan, replicates=numbers)
    typer.echo(f"{out}: {len(provenance.runs)} runs, {len(provenance.seeds)} networks")


ExperimentName = Annotated[str, typer.Argument(help="Name of an experiment, or its experiment.yaml.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="key=value of experiment.yaml to replace; repeatable.")
]


@results_app.command("summarize")
def summarize_command(
    experiment: ExperimentName,
    tables: Annotated[Path, typer.Option(help="Folder that `results collect` wrote.")],
    out: Annotated[
        Path, typer.Option(parser=OutputFolder(SUMMARIES_FOLDER), help="Folder for the summaries.")
    ],
    live_tor: Annotated[
        Path | None,
        typer.Option(
            help="OnionPerf's or tornettools' file of public Tor, to stand beside perf clients; when left"
            " out, the one that ships."
        ),
    ] = None,
    settings: Settings = None,
) -> None:
    """Write medians, curves, paired differences, verdicts and a readable summary."""
    from torsweep.config.experiment import load_experiment
    from torsweep.config.reading import parse_settings
    from torsweep.runsets.reading import PlanTables
    from torsweep.stats.summarize import make_summary

    spec = load_experiment(experiment, parse_settings(settings))
    summary = make_summary(PlanTables.open(tables), spec, out, live_tor)
    for verdict in summary.verdicts:
        where = f" ({verdict.setting})" if verdict.setting else ""
        typer.echo(f"{verdict.claim}{where}: {verdict.verdict}, {verdict.reason}")
