# Runs: one variant on one network in one engine. An engine is a program that takes a run directory and leaves
# tables in it; it writes its provenance last, which shows that the run is complete. With --wait, a step waits
# for an engine that a killed pipeline left at work in the folder. The table of progress has rows only where
# the experiment says `progress: true`. Each engine has a rule of its own, because each needs different
# resources; memory and time are computed from the run's network and engine. What a run measured of its
# machine stands in its provenance and its benchmark file.

from torsweep.engines.table_files import BREAKDOWN_FILE, CELLS_FILE, CIRCUITS_FILE, LINKS_FILE, PATHS_FILE
from torsweep.pipeline.needs import Needs

needs = Needs(sweep, workflow)

OF_A_RUN = named_files(RUN, RUN_FILES)
OF_SHADOW = named_files(RUN, [*RUN_FILES, CIRCUITS_FILE, PATHS_FILE])
OF_EMULATION = named_files(RUN, [*RUN_FILES, CIRCUITS_FILE, LINKS_FILE])
OF_TRACING = named_files(RUN, [CELLS_FILE, BREAKDOWN_FILE])


rule run:
    """Prepare one run and let its engine run it; a run that was killed starts over."""
    input:
        experiment=ancient(sweep.experiment_file),
        network=f"{NETWORK}/network.json",
        latency=f"{NETWORK}/latency.npy",
    output:
        **OF_A_RUN,
    log:
        f"results/logs/runs/{RUN_LEVELS}.log",
    benchmark:
        f"results/benchmarks/runs/{RUN_LEVELS}.tsv"
    wildcard_constraints:
        engine=MODEL_ENGINE,
    threads: 1
    resources:
        mem_mb=needs.memory_mb,
        runtime=needs.minutes,
    params:
        settings=sweep.run_settings,
        engine_version=sweep.engine_version,
        engine_run=sweep.engine_run,
        overrides=sweep.run_arguments,
        network=subpath(input.network, parent=True),
        out=subpath(output.run, parent=True),
    shell:
        "step {log:q}"
        " && torsweep run prepare {wildcards.experiment} --network {params.network:q}"
        " --engine {wildcards.engine} --era {wildcards.era} --variant {wildcards.variant:q}"
        " {params.overrides} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress"


# Two one-core runs finish sooner than two two-core runs one after the other; `--set-threads run_in_shadow=4`
# shortens a single run.
use rule run as run_in_shadow with:
    input:
        experiment=ancient(sweep.experiment_file),
        network=f"{NETWORK}/network.json",
        latency=f"{NETWORK}/latency.npy",
        tor=ancient(sweep.tor_marker),
    output:
        **OF_SHADOW,
    wildcard_constraints:
        engine="|".join(SHADOW_ENGINES),


# Real time: a run takes all cores, so that Snakemake starts nothing beside it; profiles/slurm asks for a node
# of its own.
use rule run as run_in_emulation with:
    input:
        experiment=ancient(sweep.experiment_file),
        network=f"{NETWORK}/network.json",
        latency=f"{NETWORK}/latency.npy",
        tor=ancient(sweep.tor_marker),
    output:
        **OF_EMULATION,
    wildcard_constraints:
        engine=REAL_TIME_ENGINE,
    threads: needs.whole_machine


# The same for experiments that trace cells or follow downloads: their runs also leave tables of cells and
# downloads.
ruleorder: run_traced > run
ruleorder: run_traced_in_shadow > run_in_shadow
ruleorder: run_traced_in_emulation > run_in_emulation


use rule run as run_traced with:
    output:
        **OF_A_RUN,
        **OF_TRACING,
    wildcard_constraints:
        experiment=TRACED,
        engine=MODEL_ENGINE,


use rule run_in_shadow as run_traced_in_shadow with:
    output:
        **OF_SHADOW,
        **OF_TRACING,
    wildcard_constraints:
        experiment=TRACED,
        engine="|".join(SHADOW_ENGINES),


use rule run_in_emulation as run_traced_in_emulation with:
    output:
        **OF_EMULATION,
        **OF_TRACING,
    wildcard_constraints:
        experiment=TRACED,
        engine=REAL_TIME_ENGINE,
