"""The pipeline at a glance: networks → runs → tables → summaries → figures → report → publish.

    snakemake --cores 8 refill_sweep
    snakemake --cores 8 refill_sweep --config network=laptop replicates=2 era=today plan=loads

Each stage leaves a folder, whose manifest is the output of one rule; rules/ has them in this order.
"""

import shlex
import sys
from pathlib import Path

from snakemake.utils import min_version

from torsweep.config.eras import ERAS
from torsweep.home import find
from torsweep.pipeline import hooks
from torsweep.pipeline.arguments import Arguments, source_key
from torsweep.pipeline.checks import experiment_questions, own_experiments
from torsweep.pipeline.paths import Paths
from torsweep.pipeline.tree import PLAN_LEVELS, RUN_LEVELS
from torsweep.runsets.run import SOURCES_PATTERN
from torsweep.tor.series import SERIES

min_version("9.1")

# What rules wait for, and what their commands are told.
paths = Paths(config, planning=lambda: workflow.dryrun)
arguments = Arguments(paths)

# torsweep and cellsim are those of the environment that Snakemake runs in. Braces of the shell are doubled,
# because Snakemake reads single ones as names.
BIN = shlex.quote(str(Path(sys.executable).parent)).replace("{", "{{").replace("}", "}}")
shell.executable("bash")
shell.prefix(f"set -euo pipefail; export PATH={BIN}:$PATH; ")

# Where each stage stands. A file whose folder is a stage is its manifest.
NETWORK = "results/networks/{network}/{seed}/network.json"
RUN = f"results/runs/{RUN_LEVELS}/provenance.json"
TABLES = f"results/tables/{PLAN_LEVELS}/provenance.json"
SUMMARY = f"results/summaries/{PLAN_LEVELS}/plan.json"
FIGURE = f"results/figures/{PLAN_LEVELS}/{{figure}}"
PAGE = f"results/reports/{PLAN_LEVELS}/{{experiment}}.html"
PUBLISHED = f"results/publish/{PLAN_LEVELS}/SHA256SUMS"
BUNDLE = f"results/bundles/{PLAN_LEVELS}/{{experiment}}.zip"

# The question of each experiment, by the name of its folder; and the experiments of the working directory itself.
EXPERIMENTS = experiment_questions()
OWN = own_experiments()


wildcard_constraints:
    experiment="[a-z0-9_]+",
    engine=SOURCES_PATTERN,
    era="|".join(ERAS),
    network=r"[A-Za-z0-9_.-]+(\+[a-z_.]+=[A-Za-z0-9_.-]+)*",
    seed="[0-9]+",
    variant="[A-Za-z0-9_.-]+=[^/]+",
    plan="[a-z][a-z0-9_]*",
    build="[0-9a-f]{12}",
    figure="[a-z_]+",


include: "rules/runs.smk"
include: "rules/tables.smk"
include: "rules/results.smk"


hooks.require_place()
hooks.at_end(paths, workflow)


onstart:
    hooks.start(paths, workflow)


onsuccess:
    hooks.succeed(workflow)


onerror:
    hooks.fail(workflow)


# A target for each experiment: the page of its plan, its figures, and everything that they are made from.
for name, question in EXPERIMENTS.items():

    rule:
        name:
            name
        input:
            lambda wildcards, rule=name: paths.targets(rule),
        localrule: True
        message:
            name

    getattr(rules, name).rule.docstring = question


rule all:
    """The page of each experiment of this folder that has the plan, its figures, and all that they rest on."""
    input:
        lambda wildcards: paths.pages(OWN),
    localrule: True
    message:
        "all"


rule report:
    """One page to read for each experiment that has the plan: verdicts, figures, tables, how to repeat it."""
    input:
        lambda wildcards: paths.pages(OWN),
    localrule: True
    message:
        "report"


rule publish:
    """All that goes with a result, as a folder and as a zip, for each experiment that has the plan."""
    input:
        lambda wildcards: paths.bundles(OWN),
    localrule: True
    message:
        "publish"


# Snakefiles that include this one set it again.
DEFAULT_TARGET = "refill_sweep" if "refill_sweep" in OWN else "all"
workflow.default_target = DEFAULT_TARGET
