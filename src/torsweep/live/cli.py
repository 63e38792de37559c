"""``torsweep network describe``: what a network is like, and how close to live Tor.

In: the command line. Out: tables, or JSON; with ``--fit-load`` the load that gives a utilisation, and each
step of the search on standard error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def describe_command(
    directory: Annotated[Path, typer.Argument(help="A network directory.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    experiment: Annotated[
        str, typer.Option(help="Whose clients ask: the name of an experiment, or its experiment.yaml.")
    ] = "refill_sweep",
    summary: Annotated[
        Path | None,
        typer.Option(
            help="Summary of a plan that ran on it: says how much relays were used in the baseline."
        ),
    ] = None,
    live_tor: Annotated[
        Path | None,
        typer.Option(help="OnionPerf's or tornettools' file of public Tor, to compare --summary with."),
    ] = None,
    fit_load: Annotated[
        float | None,
        typer.Option(
            help="Find the `load` that gives this utilisation of the relays, such as 0.6, in the model."
        ),
    ] = None,
) -> None:
    """Say what a network is like: capacity, latencies, bandwidths, load; and how close it is to live Tor."""
    import json
    import sys
    from dataclasses import asdict

    from torsweep.config.experiment import load_experiment
    from torsweep.errors import InputError
    from torsweep.live.comparison import likeness, likeness_lines
    from torsweep.live.fit_load import fit_load as fitted_load
    from torsweep.network import describe as description
    from torsweep.network.model import read_network

    if live_tor is not None and summary is None:
        problem = "has nothing to be compared with"
        raise InputError(problem, key="--live-tor", value=str(live_tor), accepted="--summary DIR as well")
    loaded = load_experiment(experiment)
    if not description.pauses(loaded.traffic.web):
        problem = "this experiment has no web clients that pause between downloads"
        accepted = "an experiment with traffic.web and pauses"
        raise InputError(problem, key="--experiment", value=experiment, accepted=accepted)
    network, latencies = read_network(directory)
    found = description.describe(network, latencies, loaded.traffic)
    alike = None if summary is None else likeness(summary, live_tor)
    if not as_json:
        description.print_description(found)
        print(*likeness_lines(alike) if alike else (), sep="\n", end="\n" if alike else "")
    fitted = None
    if fit_load is not None:
        fitted = fitted_load(directory, loaded, fit_load, lambda step: print(step.text, file=sys.stderr))
    if as_json:
        more = {"runs": alike, "fitted_load": fitted}
        document = {key: asdict(value) for key, value in more.items() if value is not None}
        print(json.dumps({**found.document(), **document}, indent=1))
    elif fitted is not None:
        print(fitted.conclusion)
