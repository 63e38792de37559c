# Runs: one variant on one network in one engine. An engine is a program that takes a run directory
# and leaves tables in it; its provenance comes last and says that the run is whole. --wait is for the
# engine that a killed pipeline left at work in the folder. Experiments that say `progress: true` leave one
# more table. Each engine has a rule of its own, because each needs other things of the machine.


rule run:
    """Prepare one run and let cellsim run it; killed half-way, it starts over."""
    input:
        network="results/networks/{network}/{seed}/network.json",
        latency="results/networks/{network}/{seed}/latency.npy",
    output:
        run="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/run.json",
        streams="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/streams.parquet",
        relays="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/relays.parquet",
        provenance="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/provenance.json",
    log:
        "results/logs/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}.log",
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=False),
        engine="cellsim",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=30,
    params:
        settings=sweep.run_settings,
        engine_version=sweep.engine_version,
        engine_run=sweep.engine_run,
        overrides=sweep.run_arguments,
        network=subpath(input.network, parent=True),
        out=subpath(output.run, parent=True),
    shell:
        "exec > {log:q} 2>&1"
        " && torsweep run prepare {wildcards.experiment} --network {params.network:q}"
        " --engine {wildcards.engine} --era {wildcards.era} --variant {wildcards.variant:q}"
        " {params.overrides} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress"


use rule run as run_with_progress with:
    output:
        run="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/run.json",
        streams="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/streams.parquet",
        relays="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/relays.parquet",
        progress="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/progress.parquet",
        provenance="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/provenance.json",
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=True),
        engine="cellsim",


# Two runs on a core each come further than one on two; `--set-threads run_in_shadow=4` is for the hasty.
use rule run as run_in_shadow with:
    input:
        network="results/networks/{network}/{seed}/network.json",
        latency="results/networks/{network}/{seed}/latency.npy",
        tor=ancient(sweep.tor_marker),
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=False),
        engine="shadow|shadow-no-rtt",
    threads: 1
    resources:
        mem_mb=sweep.shadow_memory_mb,
        runtime=24 * 60,


use rule run_with_progress as run_in_shadow_with_progress with:
    input:
        network="results/networks/{network}/{seed}/network.json",
        latency="results/networks/{network}/{seed}/latency.npy",
        tor=ancient(sweep.tor_marker),
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=True),
        engine="shadow|shadow-no-rtt",
    threads: 1
    resources:
        mem_mb=sweep.shadow_memory_mb,
        runtime=24 * 60,


# Real time: a run has the machine for itself, whatever it leaves unused.
use rule run as run_in_emulation with:
    input:
        network="results/networks/{network}/{seed}/network.json",
        latency="results/networks/{network}/{seed}/latency.npy",
        tor=ancient(sweep.tor_marker),
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=False),
        engine="emulation",
    threads: workflow.cores
    resources:
        mem_mb=sweep.emulation_memory_mb,
        runtime=60,


use rule run_with_progress as run_in_emulation_with_progress with:
    input:
        network="results/networks/{network}/{seed}/network.json",
        latency="results/networks/{network}/{seed}/latency.npy",
        tor=ancient(sweep.tor_marker),
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=True),
        engine="emulation",
    threads: workflow.cores
    resources:
        mem_mb=sweep.emulation_memory_mb,
        runtime=60,
