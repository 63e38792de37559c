"""Put the tables of a plan's runs together."""

from pathlib import Path

from torsweep.ending import run_script
from torsweep.runsets.collect import collect
from torsweep.runsets.run import open_runs, parse_sources


def _work() -> None:
    named, params = snakemake.wildcards, snakemake.params
    runs = [Path(run) for run in params.runs]
    opened = open_runs(runs, parse_sources(params.sources)) if params.sources else runs
    made = collect(
        opened, Path(params.out), network=named.network, plan=named.plan, replicates=params.numbers
    )
    print(f"{len(made.runs)} runs, {len(made.seeds)} networks")


run_script(snakemake, _work)
