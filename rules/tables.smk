# Tables: the runs of a plan, one after the other. Summaries: what they say, with intervals. The sources
# that compute them are parameters, so that changed statistics are computed anew.


rule collect_tables:
    """Put the tables of a plan's runs together; downloads that started in the warm-up are cut."""
    input:
        sweep.runs,
    output:
        streams="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/streams.parquet",
        relays="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/relays.parquet",
        provenance="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/provenance.json",
    log:
        "results/logs/tables/{experiment}/{engine}/{era}/{network}/{plan}.log",
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=False),
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=sweep.source_sha256("tables"),
        runs=sweep.run_directories,
        out=subpath(output.streams, parent=True),
    shell:
        "torsweep results collect --network {wildcards.network:q} --plan {wildcards.plan}"
        " --out {params.out:q} {params.runs} > {log:q} 2>&1"


use rule collect_tables as collect_tables_with_progress with:
    output:
        streams="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/streams.parquet",
        relays="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/relays.parquet",
        progress="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/progress.parquet",
        provenance="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/provenance.json",
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=True),


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
            "stairs.csv",
            "stationarity.csv",
        ),
        summary="results/summaries/{experiment}/{engine}/{era}/{network}/{plan}/summary.md",
    log:
        "results/logs/summaries/{experiment}/{engine}/{era}/{network}/{plan}.log",
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=False),
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=sweep.source_sha256("tables", "stats"),
        tables=subpath(input.streams, parent=True),
        out=subpath(output.summary, parent=True),
    shell:
        "torsweep results summarize {wildcards.experiment} --tables {params.tables:q}"
        " --out {params.out:q} > {log:q} 2>&1"


use rule summarize as summarize_with_progress with:
    input:
        experiment=sweep.experiment_file,
        streams="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/streams.parquet",
        relays="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/relays.parquet",
        progress="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/progress.parquet",
    output:
        multiext(
            "results/summaries/{experiment}/{engine}/{era}/{network}/{plan}/",
            "medians.csv",
            "differences.csv",
            "claims.csv",
            "claims.json",
            "curves.csv",
            "outcomes.csv",
            "stairs.csv",
            "stationarity.csv",
            "shares.csv",
            "clients.csv",
        ),
        summary="results/summaries/{experiment}/{engine}/{era}/{network}/{plan}/summary.md",
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=True),
