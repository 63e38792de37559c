"""Write medians, curves, paired differences, verdicts and a readable summary."""

from pathlib import Path

from torsweep.config.experiment import load_experiment
from torsweep.ending import run_script
from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.summarize import make_summary


def _work() -> None:
    params = snakemake.params
    experiment = load_experiment(snakemake.wildcards.experiment, params.settings)
    public = next(map(Path, snakemake.input.live_tor), None)
    summary = make_summary(PlanTables.open(Path(params.tables)), experiment, Path(params.out), public)
    for verdict in summary.verdicts:
        where = f" ({verdict.setting})" if verdict.setting else ""
        print(f"{verdict.claim}{where}: {verdict.verdict}, {verdict.reason}")


run_script(snakemake, _work)
