# Figures: drawn from tables and summaries; the style is an input, so restyling redraws.


rule draw_figure:
    """Draw one figure as PDF and PNG, with the points it plots as CSV."""
    input:
        style=sorted(map(str, Path("plotting").glob("*.*"))),
        streams="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/streams.parquet",
        relays="results/tables/{experiment}/{engine}/{era}/{network}/{plan}/relays.parquet",
        summary="results/summaries/{experiment}/{engine}/{era}/{network}/{plan}/summary.md",
    output:
        multiext(
            "results/figures/{experiment}/{engine}/{era}/{network}/{plan}/{figure}",
            ".pdf",
            ".png",
            ".csv",
        ),
    log:
        "results/logs/figures/{experiment}/{engine}/{era}/{network}/{plan}/{figure}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=5,
    params:
        tables=subpath(input.streams, parent=True),
        summaries=subpath(input.summary, parent=True),
        stem=lambda wildcards, output: Path(output[0]).with_suffix(""),
    shell:
        "python -m plotting {wildcards.figure} --tables {params.tables:q}"
        " --summaries {params.summaries:q} --out {params.stem:q} > {log:q} 2>&1"


rule draw_engines:
    """Draw when each stream was complete in the model and in real tor, with a table of both."""
    input:
        style=sorted(map(str, Path("plotting").glob("*.*"))),
        model="results/summaries/{experiment}/cellsim/{era}/{network}/{plan}/summary.md",
        real="results/summaries/{experiment}/emulation/{era}/{network}/{plan}/summary.md",
    output:
        multiext(
            "results/figures/{experiment}/side_by_side/{era}/{network}/{plan}/",
            "stream_engines.pdf",
            "stream_engines.png",
            "stream_engines.csv",
            "completion.csv",
            "clients.csv",
        ),
        text="results/figures/{experiment}/side_by_side/{era}/{network}/{plan}/side_by_side.md",
    log:
        "results/logs/figures/{experiment}/side_by_side/{era}/{network}/{plan}.log",
    wildcard_constraints:
        experiment=sweep.experiments_pattern(progress=True),
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        source=sweep.source_sha256("stats"),
        model=subpath(input.model, parent=True),
        real=subpath(input.real, parent=True),
        out=subpath(output.text, parent=True),
    shell:
        "python -m plotting.engines {params.model:q} {params.real:q} --out {params.out:q}/stream_engines"
        " > {log:q} 2>&1"
