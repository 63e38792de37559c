# Tables hold the runs of a plan, one after the other. Summaries hold their statistics, with intervals. What Python
# executes, and what the experiment asks for, are parameters: a change in them computes summaries again; a comment, or
# a figure more, does not.


rule collect_tables:
    """Put the tables of a plan's runs together, without what ended in the warm-up."""
    input:
        paths.runs,
    output:
        TABLES,
    log:
        f"results/logs/tables/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=source_key("runsets/collect.py"),
        runs=arguments.runs,
        sources=arguments.sources,
        finished=arguments.finished,
        numbers=arguments.numbers_by_level,
        out=subpath(output[0], parent=True),
    message:
        "tables of {wildcards.experiment}, plan {wildcards.plan}"
    script:
        "scripts/collect_tables.py"


rule summarize:
    """Compute medians, paired differences and curves over networks, and judge the claims."""
    input:
        tables=TABLES,
        experiment=ancient(paths.experiment_file),
        live_tor=paths.live_tor,
    output:
        plan=SUMMARY,
        text=f"results/summaries/{PLAN_LEVELS}/summary.md",
    log:
        f"results/logs/summaries/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=arguments.summary_source,
        asked=arguments.asked,
        settings=arguments.number_of_networks,
        tables=subpath(input.tables, parent=True),
        out=subpath(output.plan, parent=True),
    message:
        "summary of {wildcards.experiment}, plan {wildcards.plan}"
    script:
        "scripts/summarize.py"
