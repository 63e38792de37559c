# Figures: drawn from summaries; the style is an input, so restyling redraws.


rule draw_figure:
    """Draw one figure as PDF and PNG, with the points it plots as CSV."""
    input:
        style=STYLE,
        summaries=multiext(f"{SUMMARIES}/", *SUMMARY_FILES),
    output:
        pdf=f"{FIGURES}/{{figure}}.pdf",
        png=report(
            f"{FIGURES}/{{figure}}.png",
            caption="captions/figure.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{engine}", "era": "{era}", "network": "{network}", "what": "{figure}"},
        ),
        csv=f"{FIGURES}/{{figure}}.csv",
    log:
        f"results/logs/figures/{PLAN_LEVELS}/{{figure}}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=5,
    params:
        summaries=lambda wildcards, input: Path(input.summaries[0]).parent,
        stem=lambda wildcards, output: Path(output.pdf).with_suffix(""),
    shell:
        "step {log:q}"
        " && python -m plotting {wildcards.figure} --summaries {params.summaries:q} --out {params.stem:q}"


rule draw_engines:
    """Draw when each stream was complete in each engine."""
    input:
        style=STYLE,
        comparison=multiext(f"{SIDE_BY_SIDE}/", *SIDE_BY_SIDE_FILES),
    output:
        pdf=f"{SIDE_BY_SIDE}/stream_engines.pdf",
        png=report(
            f"{SIDE_BY_SIDE}/stream_engines.png",
            caption="captions/side_by_side.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{engines}", "era": "{era}", "network": "{network}", "what": "stream_engines"},
        ),
        csv=f"{SIDE_BY_SIDE}/stream_engines.csv",
    log:
        f"results/logs/side_by_side/{COMPARED_LEVELS}/stream_engines.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        comparison=lambda wildcards, input: Path(input.comparison[0]).parent,
        stem=lambda wildcards, output: Path(output.pdf).with_suffix(""),
    shell:
        "step {log:q} && python -m plotting.engines {params.comparison:q} --out {params.stem:q}"
