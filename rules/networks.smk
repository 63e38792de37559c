# Networks: sampled from a configuration and a seed, shared by every variant of a replicate.


rule sample_network:
    """Sample one network: a pure function of its configuration and its seed."""
    input:
        config=ancient(sweep.network_file),
        topologies=ancient(sweep.topologies),
    output:
        network="results/networks/{network}/{seed}/network.json",
        latency="results/networks/{network}/{seed}/latency.npy",
    log:
        "results/logs/networks/{network}/{seed}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        settings=sweep.network_settings,
        overrides=sweep.network_arguments,
        out=subpath(output.network, parent=True),
    shell:
        "torsweep network sample {input.config} --seed {wildcards.seed}"
        " {params.overrides} --out {params.out:q} > {log:q} 2>&1"
