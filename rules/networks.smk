# Networks: sampled from a configuration and a seed, shared by every variant of a replicate.


rule sample_network:
    """Sample one network: a pure function of its configuration and its seed."""
    input:
        config=ancient(sweep.network_file),
        topologies=ancient(sweep.topologies),
    output:
        network=f"{NETWORK}/network.json",
        latency=f"{NETWORK}/latency.npy",
    log:
        "results/logs/networks/{network}/{seed}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        settings=sweep.network_settings,
        overrides=sweep.network_arguments,
        out=subpath(output.network, parent=True),
    shell:
        "step {log:q} && torsweep network sample {input.config} --seed {wildcards.seed}"
        " {params.overrides} --out {params.out:q}"
