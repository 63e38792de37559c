# Report: one page for each plan, to read and to hand on.


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
        networks=arguments.networks,
        settings=arguments.number_of_networks,
    message:
        "page of {wildcards.experiment}, plan {wildcards.plan}"
    script:
        "scripts/report_plan.py"
