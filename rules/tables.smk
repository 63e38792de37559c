# Tables: the runs of a plan, one after the other. Summaries: what they say, with intervals.


rule collect_tables:
    """Put the tables of a plan's runs together; downloads that started in the warm-up are cut."""
    input:
        sweep.runs,
    output:
        streams="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/streams.parquet",
        relays="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/relays.parquet",
    log:
        "results/logs/tables/{experiment}/{engine}/{era}/{network}/{plan}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        runs=sweep.run_directories,
        out=subpath(output.streams, parent=True),
    shell:
        "torsweep results collect --network {wildcards.network:q} --plan {wildcards.plan}"
        " --out {params.out:q} {params.runs} > {log:q} 2>&1"


rule summarize:
    """Compute medians, paired differences and curves over networks, and judge the claims."""
    input:
        experiment=sweep.experiment_file,
        streams="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/streams.parquet",
        relays="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/relays.parquet",
    output:
        multiext(
            "results/summaries/{experiment}/{engine}/{era}/{network}/{plan}/",
            "medians.csv",
            "differences.csv",
            "claims.csv",
            "claims.json",
            "curves.csv",
            "outcomes.csv",
            "stationarity.csv",
        ),
        summary="results/summaries/{experiment}/{engine}/{era}/{network}/{plan}/summary.md",
    log:
        "results/logs/summaries/{experiment}/{engine}/{era}/{network}/{plan}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        tables=subpath(input.streams, parent=True),
        out=subpath(output.summary, parent=True),
    shell:
        "torsweep results summarize {wildcards.experiment} --tables {params.tables:q}"
        " --out {params.out:q} > {log:q} 2>&1"
