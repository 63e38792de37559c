# What summaries become: figures, one page for each plan to read, and everything that belongs to a result when it leaves
# this machine, as a folder and as one file. A key of what drawing executes is a parameter: a change in it draws again.


rule draw_figure:
    """Draw one figure as PDF and PNG, with the points it plots as CSV and its caption as text."""
    input:
        summary=SUMMARY,
    output:
        pdf=f"{FIGURE}.pdf",
        png=f"{FIGURE}.png",
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
        summary=subpath(input.summary, parent=True),
        stem=subpath(output.pdf, strip_suffix=".pdf"),
    message:
        "figure {wildcards.figure} of {wildcards.experiment}, plan {wildcards.plan}"
    script:
        "scripts/draw_figure.py"


rule report_plan:
    """Write the page of a plan: claims and verdicts, figures, tables, networks, how to repeat it."""
    input:
        experiment=paths.experiment_file,
        summary=SUMMARY,
        figures=paths.figures,
        networks=paths.networks,
    output:
        PAGE,
    log:
        f"results/logs/reports/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=5,
    params:
        source=source_key("report"),
        summary=subpath(input.summary, parent=True),
        figures=lambda wildcards, input: Path(input.figures[0]).parent,
        settings=arguments.number_of_networks,
    message:
        "page of {wildcards.experiment}, plan {wildcards.plan}"
    script:
        "scripts/report_plan.py"


rule publish_plan:
    """Gather tables, summary, figures, page, configuration and provenance of a plan, as a folder and one file."""
    input:
        experiment=paths.experiment_file,
        tables=TABLES,
        summary=SUMMARY,
        figures=paths.figures,
        page=PAGE,
        runs=paths.runs,
        networks=paths.networks,
    output:
        sums=PUBLISHED,
        bundle=BUNDLE,
    log:
        f"results/logs/publish/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        source=source_key("bundle.py"),
        tables=subpath(input.tables, parent=True),
        summary=subpath(input.summary, parent=True),
        figures=lambda wildcards, input: Path(input.figures[0]).parent,
        runs=arguments.runs,
        settings=arguments.number_of_networks,
        out=subpath(output.sums, parent=True),
    message:
        "published result of {wildcards.experiment}, plan {wildcards.plan}"
    script:
        "scripts/publish_plan.py"
