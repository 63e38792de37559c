# Tables hold the runs of a plan, one after the other. Summaries hold their statistics, with intervals. Hashes
# of the Python sources are parameters of these rules, so that a change of the statistics computes them again.
OF_TABLES = named_files(TABLES, TABLE_FILES)


rule collect_tables:
    """Put the tables of a plan's runs together; downloads that started in the warm-up are cut."""
    input:
        sweep.runs,
    output:
        **OF_TABLES,
    log:
        f"results/logs/tables/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=sweep.source_sha256("tables", "engines/table_schema.py"),
        runs=sweep.run_directories,
        out=subpath(output.streams, parent=True),
    shell:
        "step {log:q}"
        " && torsweep results collect --network {wildcards.network:q} --plan {wildcards.plan}"
        " --out {params.out:q} {params.runs}"


rule summarize:
    """Compute medians, paired differences and curves over networks, and judge the claims."""
    input:
        **OF_TABLES,
        experiment=sweep.experiment_file,
        findings=findings_plan.verdicts_of_plan,
    output:
        multiext(f"{SUMMARIES}/", *(name for name in SUMMARY_FILES if name != "summary.md")),
        summary=report(
            f"{SUMMARIES}/summary.md",
            caption="captions/summary.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{engine}", "era": "{era}", "network": "{network}", "what": "summary"},
        ),
    log:
        f"results/logs/summaries/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=sweep.source_sha256("tables", "stats", "engines/table_schema.py"),
        overrides=looks.arguments,
        findings=findings_plan.summary_argument,
        tables=subpath(input.streams, parent=True),
        out=subpath(output.summary, parent=True),
    shell:
        "step {log:q}"
        " && torsweep results summarize {wildcards.experiment} --tables {params.tables:q}"
        " --out {params.out:q} {params.overrides} {params.findings}"


rule compare_streams:
    """When each stream of a circuit was complete in several engines, on the same networks."""
    input:
        sweep.compared_summaries,
    output:
        multiext(f"{SIDE_BY_SIDE}/", *(name for name in SIDE_BY_SIDE_FILES if name != "side_by_side.md")),
        text=report(
            f"{SIDE_BY_SIDE}/side_by_side.md",
            caption="captions/side_by_side.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{engines}", "era": "{era}", "network": "{network}", "what": "side by side"},
        ),
    log:
        f"results/logs/side_by_side/{COMPARED_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        source=sweep.source_sha256("stats"),
        summaries=lambda wildcards, input: list(dict.fromkeys(Path(file).parent for file in input)),
        out=subpath(output.text, parent=True),
    shell:
        "step {log:q} && torsweep results side-by-side {params.summaries:q} --out {params.out:q}"
