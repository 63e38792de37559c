# Figures are drawn from summaries. Their module and style are inputs, and a key of all else that drawing loads is a
# parameter, so that a change in any of these draws them again.


rule draw_figure:
    """Draw one figure as PDF and PNG, with the points it plots as CSV and its caption as text."""
    input:
        figure=lambda wildcards: str(find(figure_files()[wildcards.figure])),
        style=STYLE,
        summary=SUMMARY,
    output:
        pdf=f"{FIGURE}.pdf",
        png=report(
            f"{FIGURE}.png",
            caption="captions/figure.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{engine}", "era": "{era}", "network": "{network}", "what": "{figure}"},
        ),
        csv=f"{FIGURE}.csv",
        caption=f"{FIGURE}.txt",
    log:
        f"results/logs/figures/{PLAN_LEVELS}/{{figure}}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=5,
    params:
        source=arguments.figure_source,
        captions=arguments.captions,
        summary=subpath(input.summary, parent=True),
        stem=subpath(output.pdf, strip_suffix=".pdf"),
    message:
        "figure {wildcards.figure} of {wildcards.experiment}, plan {wildcards.plan}"
    script:
        "scripts/draw_figure.py"
