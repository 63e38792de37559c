# What runs need, and runs. Builds of tor, for the engines that run the real thing; networks, sampled from a
# configuration and a seed and shared by every variant of a replicate; and runs, one variant on one network in one
# engine. What an engine needs (tor, cores, memory, minutes, a node) is stated by its package.
from torsweep.engines.registry import RUN_ENGINES

ONE_ENGINE = "|".join(RUN_ENGINES)
REPEAT = f"results/repeats/{RUN_LEVELS}/provenance.json"


# The output is a file whose name has the key of the build's source and patches. Its inputs are ancient, so that it
# is either missing or right, and never out of date. If it could be out of date, Snakemake would skip runs that take
# it as an ancient input, even missing ones, and would end as if everything were done.
rule build_tor:
    """Build a tor that an experiment names: one binary for all knobs, which are run-time options."""
    input:
        series=ancient(str(find(SERIES / "series"))),
        patches=ancient(sorted(map(str, find(SERIES / "series").parent.glob("*.patch")))),
    output:
        "results/tools/tor/built-{build}",
    log:
        "results/logs/tools/tor-{build}.log",
    # A build that fails should fail before hours of other runs.
    priority: 1
    threads: 4
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        source=arguments.tor_source,
        out=subpath(output[0], parent=True),
    message:
        "tor: {output}"
    shell:
        # The folder is a link in a study of `compare`, which shares the builds of another folder.
        'torsweep tor build {params.source} --out "$(realpath {params.out:q})" --stamp {output:q}'
        " --jobs {threads}"
        " >{log:q} 2>&1"


rule sample_network:
    """Sample one network: a pure function of its configuration and its seed."""
    input:
        ancient(paths.network_inputs),
    output:
        NETWORK,
    log:
        "results/logs/networks/{network}/{seed}.log",
    threads: 1
    resources:
        mem_mb=arguments.network_memory_mb,
        runtime=5,
    params:
        settings=arguments.network_settings,
        config=arguments.network_name,
        levels=arguments.network_levels,
        out=subpath(output[0], parent=True),
    message:
        "network {wildcards.network}, seed {wildcards.seed}"
    shell:
        "torsweep network sample {params.config} --seed {wildcards.seed} {params.levels}"
        " --out {params.out:q} >{log:q} 2>&1"


# An engine is a program that takes a run directory and leaves tables in it; it writes its provenance last, with their
# checksums. With --wait, a run waits for an engine that a killed pipeline left at work in the folder. What a run took
# stands in its provenance and its benchmark file. A repeat is the same run with another seed.
rule run:
    """Prepare one run and let its engine run it; a run that was killed starts over."""
    input:
        network=NETWORK,
        experiment=ancient(paths.run_experiment),
        tor=ancient(paths.tor),
    output:
        RUN,
    log:
        f"results/logs/runs/{RUN_LEVELS}.log",
    benchmark:
        f"results/benchmarks/runs/{RUN_LEVELS}.tsv"
    wildcard_constraints:
        engine=ONE_ENGINE,
    # Two one-core runs finish sooner than two two-core runs one after the other; `--set-threads run=4` shortens
    # a single run in Shadow.
    threads: arguments.run_threads
    resources:
        mem_mb=arguments.run_memory_mb,
        runtime=arguments.run_minutes,
        slurm_extra=arguments.run_node,
    params:
        settings=arguments.run_settings,
        engine_version=arguments.engine_version,
        engine_run=arguments.engine_run,
        durations=arguments.run_durations,
        tor=arguments.run_tor,
        network=subpath(input.network, parent=True),
        out=subpath(output[0], parent=True),
    message:
        "run {wildcards.experiment} {wildcards.variant} on {wildcards.network}, seed {wildcards.seed}"
    shell:
        "(torsweep run prepare {wildcards.experiment} --network {params.network:q}"
        " --engine {wildcards.engine} --era {wildcards.era} --variant {wildcards.variant:q}"
        " {params.durations} {params.tor} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress) >{log:q} 2>&1"


rule run_repeat:
    """Repeat a run with another seed: the difference between the two is chance."""
    input:
        RUN,
    output:
        REPEAT,
    log:
        f"results/logs/repeats/{RUN_LEVELS}.log",
    benchmark:
        f"results/benchmarks/repeats/{RUN_LEVELS}.tsv"
    wildcard_constraints:
        engine=ONE_ENGINE,
    threads: arguments.run_threads
    resources:
        mem_mb=arguments.run_memory_mb,
        runtime=arguments.run_minutes,
        slurm_extra=arguments.run_node,
    params:
        engine_version=arguments.engine_version,
        engine_run=arguments.engine_run,
        original=subpath(input[0], parent=True),
        out=subpath(output[0], parent=True),
    message:
        "repeat {wildcards.experiment} {wildcards.variant} on {wildcards.network}, seed {wildcards.seed}"
    script:
        "scripts/run_repeat.py"
