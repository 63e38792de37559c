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
