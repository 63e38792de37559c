# Networks: sampled from a configuration and a seed, shared by every variant of a replicate.


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
