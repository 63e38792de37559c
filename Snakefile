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

from torsweep.config.engine_names import MODEL_ENGINE, REAL_TIME_ENGINE, RUN_ENGINES, SHADOW_ENGINES
from torsweep.config.eras import ERAS
from torsweep.pipeline.failed_step import end_done, end_failed
from torsweep.pipeline.protected import take_over_check
from torsweep.pipeline.results_tree import COMPARED_LEVELS, PLAN_LEVELS, RUN_FILES, RUN_LEVELS, TABLE_FILES
from torsweep.pipeline.sweep import Sweep, stop
from torsweep.pipeline.traced import traced_experiments
from torsweep.stats.files import SIDE_BY_SIDE_FILES, SUMMARY_FILES

min_version("9.1")

# A user's mistake ends the process here, with one line.
take_over_check(snakemake.jobs, stop)
sweep = Sweep(config)

# torsweep, cellsim and python are those of the environment that Snakemake runs in. Braces of the shell stand
# twice, since Snakemake takes single ones for names.
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
SIDE_BY_SIDE = f"results/side_by_side/{COMPARED_LEVELS}"
PUBLISHED = f"results/publish/{PLAN_LEVELS}"
STYLE = sorted(map(str, Path("plotting").glob("*.py")))
TRACED = traced_experiments()

EXPERIMENTS = (
    "refill_sweep",
    "scheduler_choice",
    "starvation",
    "cell_trace",
    "clock_source",
    "latency_breakdown",
    "refill_waits",
)


report: "rules/captions/workflow.rst"


wildcard_constraints:
    experiment="[a-z0-9_]+",
    engine="|".join(RUN_ENGINES),
    model="[a-z-]+",
    reference="[a-z-]+",
    era="|".join(ERAS),
    network=r"[A-Za-z0-9_.-]+(,[a-z_]+=[A-Za-z0-9_.-]+)*",
    seed="[0-9]+",
    variant="[a-z_]+=[^/]+",
    engines="[a-z+-]+",
    plan="[a-z][a-z0-9_]*",
    figure="[a-z_]+",


include: "rules/tools.smk"
include: "rules/networks.smk"
include: "rules/runs.smk"
include: "rules/looks.smk"
include: "rules/tables.smk"
include: "rules/figures.smk"
include: "rules/report.smk"
include: "rules/publish.smk"
include: "rules/fidelity.smk"


localrules:
    refill_sweep,
    scheduler_choice,
    starvation,
    starvation_engines,
    cell_trace,
    clock_source,
    latency_breakdown,
    refill_waits,
    report,
    publish,


onstart:
    sweep.begin(workflow)


onsuccess:
    end_done()


onerror:
    end_failed([log] if isinstance(log, str) else log)


rule refill_sweep:
    """Refill interval and circuit policy: Tor ticket 4086, comment 7."""
    default_target: True
    input:
        lambda wildcards: sweep.targets("refill_sweep"),


rule scheduler_choice:
    """KIST, KISTLite and Vanilla, as users see them."""
    input:
        lambda wildcards: sweep.targets("scheduler_choice"),


rule starvation:
    """Who gets the bandwidth when many streams share a circuit: "Stream starvation in Tor" (2010)."""
    input:
        lambda wildcards: sweep.targets("starvation"),


rule starvation_engines:
    """The same streams in every engine that can run here, side by side."""
    input:
        lambda wildcards: sweep.side_by_side("starvation"),


rule cell_trace:
    """Where cells spend their time in a relay: "Inprocess Cell Time Tracing" (2019)."""
    input:
        lambda wildcards: sweep.targets("cell_trace"),


rule clock_source:
    """What the step of a coarse clock does to buckets: the report on CLOCK_MONOTONIC_FAST (2022)."""
    input:
        lambda wildcards: sweep.targets("clock_source"),


rule latency_breakdown:
    """What downloads wait for until their first and their last byte: Time Capsule (2017), for Tor."""
    input:
        lambda wildcards: sweep.targets("latency_breakdown"),


rule refill_waits:
    """Where web clients wait for their first byte under each variant of refill_sweep."""
    input:
        lambda wildcards: sweep.targets("refill_waits"),


rule report:
    """One page to read for each experiment that has the plan: verdicts, figures, tables, how to repeat it."""
    input:
        lambda wildcards: leaving.pages(*EXPERIMENTS),


rule publish:
    """All that goes with a result, as a folder and as a zip, for each experiment that has the plan."""
    input:
        lambda wildcards: leaving.bundles(*EXPERIMENTS),
