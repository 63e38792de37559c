"""The pipeline at a glance: networks → runs → tables → summaries → figures → report → publish.

    snakemake --cores 8 refill_sweep
    snakemake --cores 8 refill_sweep --config network=laptop replicates=2 era=today plan=loads

Each stage is one file of rules/; what a plan consists of is worked out by torsweep.pipeline.sweep.
"""

import shlex
import sys
from pathlib import Path

import snakemake.jobs
from snakemake.utils import min_version

from torsweep.config.eras import ERAS
from torsweep.engines.selection import ENGINES, MODEL_ENGINE, RUN_ENGINES
from torsweep.findings.places import FINISHED, FindingsPlan
from torsweep.pipeline.failed_step import end_done, end_failed
from torsweep.pipeline.targets import experiment_targets
from torsweep.pipeline.protected import take_over_check
from torsweep.pipeline.results_tree import (
    COMPARED_LEVELS,
    PLAN_LEVELS,
    RUN_FILES,
    RUN_LEVELS,
    TABLE_FILES,
    named_files,
)
from torsweep.pipeline.sweep import Sweep, stop
from torsweep.pipeline.traced import traced_experiments
from torsweep.stats.files import FINDINGS_FILES, SIDE_BY_SIDE_FILES, SUMMARY_FILES

min_version("9.1")

# A user's mistake ends the process here, with one line.
take_over_check(snakemake.jobs, stop)
sweep = Sweep(config)

SHADOW_ENGINES = tuple(ENGINES["shadow"].kinds)
REAL_TIME_ENGINE = next(name for name, engine in ENGINES.items() if engine.real_time)

# torsweep, cellsim and python are those of the environment that Snakemake runs in. Braces of the shell are
# doubled, because Snakemake reads single ones as names.
BIN = shlex.quote(str(Path(sys.executable).parent)).replace("{", "{{").replace("}", "}}")
STEP = shlex.quote(str(Path(workflow.basedir) / "rules/step.sh")).replace("{", "{{").replace("}", "}}")
shell.executable("bash")
shell.prefix(f"export PATH={BIN}:$PATH; source {STEP}; ")

# Where each stage's files stand.
NETWORK = "results/networks/{network}/{seed}"
RUN = f"results/runs/{RUN_LEVELS}"
TABLES = f"results/tables/{PLAN_LEVELS}"
SUMMARIES = f"results/summaries/{PLAN_LEVELS}"
FIGURES = f"results/figures/{PLAN_LEVELS}"
FINDINGS_LEVELS = "{experiment}/{asked}/{era}/{network}/{plan}"
FINDINGS = f"results/findings/{FINDINGS_LEVELS}"
SIDE_BY_SIDE = f"results/side_by_side/{COMPARED_LEVELS}"
PUBLISHED = f"results/publish/{PLAN_LEVELS}"
STYLE = sorted(map(str, Path("plotting").rglob("*.py")))
TRACED = traced_experiments()
# The name of each folder of experiments/, with its question and its figures.
EXPERIMENTS = experiment_targets()


report: "rules/captions/workflow.rst"


wildcard_constraints:
    experiment="[a-z0-9_]+",
    engine="|".join(RUN_ENGINES),
    model=r"[a-z-]+(\+tcp=[a-z0-9_]+)?",
    reference="[a-z-]+",
    era="|".join(ERAS),
    network=r"[A-Za-z0-9_.-]+(\+[a-z_]+=[A-Za-z0-9_.-]+)*",
    seed="[0-9]+",
    variant="[a-z_]+=[^/]+",
    engines="[a-z+-]+",
    asked="|".join((*RUN_ENGINES, FINISHED)),
    plan="[a-z][a-z0-9_]*",
    figure="[a-z_]+",


include: "rules/tools.smk"
include: "rules/networks.smk"
include: "rules/runs.smk"
include: "rules/looks.smk"
include: "rules/findings.smk"
include: "rules/tables.smk"
include: "rules/figures.smk"
include: "rules/report.smk"
include: "rules/publish.smk"
include: "rules/fidelity.smk"


localrules:
    starvation_engines,
    findings,
    report,
    publish,


onstart:
    sweep.begin(workflow)


onsuccess:
    end_done()


onerror:
    end_failed([log] if isinstance(log, str) else log)


# A target for each experiment: the figures of its plan, and everything that they are made from.
for name, experiment in EXPERIMENTS.items():

    rule:
        name:
            name
        input:
            lambda wildcards, rule=name: sweep.targets(rule),
        localrule: True

    workflow.get_rule(name).docstring = experiment.question


workflow.default_target = "refill_sweep"


rule starvation_engines:
    """The same streams in every engine that can run here, side by side."""
    input:
        lambda wildcards: sweep.side_by_side("starvation"),


rule findings:
    """Claims and contrasts of a plan under every transport that it has run over; starts no run."""
    input:
        lambda wildcards: findings_plan.targets(),


rule report:
    """One page to read for each experiment that has the plan: verdicts, figures, tables, how to repeat it."""
    input:
        lambda wildcards: leaving.pages(*EXPERIMENTS),


rule publish:
    """All that goes with a result, as a folder and as a zip, for each experiment that has the plan."""
    input:
        lambda wildcards: leaving.bundles(*EXPERIMENTS),
