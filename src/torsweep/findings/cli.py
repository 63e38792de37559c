"""``torsweep results findings``: claims and contrasts of a plan under every transport that it has run over.

In: finished runs below results/. Out: :data:`~torsweep.stats.files.FINDINGS_FILES`. Nothing is run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from torsweep.output_options import OutputFolder
from torsweep.storage.folders import COMPARISON


def findings_command(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment, or its experiment.yaml.")],
    out: Annotated[Path, typer.Option(parser=OutputFolder(COMPARISON), help="Folder for the findings.")],
    plan: Annotated[str, typer.Option(help="Part of the experiment: main or a sensitivity.")] = "main",
    network: Annotated[
        str | None,
        typer.Option(help="Configuration of the networks of all transports; else where each has run."),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Networks of that configuration to take, FIRST-LAST; else all.")
    ] = None,
    given: Annotated[
        Path | None, typer.Option(help="findings.json to write anew; then no run is looked for.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="key=value of experiment.yaml to replace; repeatable.")
    ] = None,
) -> None:
    """Say which claims and contrasts hold under every transport that has finished runs."""
    from torsweep.config.experiment import load_experiment
    from torsweep.config.reading import parse_settings
    from torsweep.errors import InputError
    from torsweep.findings.compare import findings
    from torsweep.findings.transports import transports
    from torsweep.findings.writing import write_findings
    from torsweep.pipeline.paths import RESULTS
    from torsweep.seeds import seed_range
    from torsweep.stats.findings_file import read_findings
    from torsweep.stats.findings_text import counts_text

    if given is not None:
        write_findings(read_findings(given), out)
        return
    asked = load_experiment(experiment, parse_settings(settings))
    chosen = asked.plan(plan)
    limits = None if seeds is None else seed_range(seeds)
    found = transports(asked, chosen, network=network, seeds=limits)
    if not found:
        raise InputError(
            "no run of the plan is finished", file=RESULTS / "runs" / asked.name, key="plan", value=plan
        )
    made = findings(asked, chosen, found)
    write_findings(made, out)
    names = ", ".join(one.transport for one in made.transports)
    typer.echo(f"{out}: {names}. {counts_text(made)}")
