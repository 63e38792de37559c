# Publish: everything that belongs to a result when it leaves this machine, as a folder and as one file.


rule publish_plan:
    """Gather tables, summary, figures, page, configuration and provenance of a plan, with their checksums."""
    input:
        experiment=paths.experiment_file,
        tables=TABLES,
        summary=SUMMARY,
        figures=paths.figures,
        page=PAGE,
        runs=paths.runs,
        networks=paths.networks,
    output:
        PUBLISHED,
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
        authors=arguments.authors,
        licence=arguments.licence,
        settings=arguments.number_of_networks,
        out=subpath(output[0], parent=True),
    message:
        "published result of {wildcards.experiment}, plan {wildcards.plan}"
    script:
        "scripts/publish_plan.py"


rule bundle_plan:
    """Pack what is published of a plan as one file."""
    input:
        PUBLISHED,
    output:
        BUNDLE,
    log:
        f"results/logs/bundles/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        source=source_key("bundle.py"),
        folder=subpath(input[0], parent=True),
    message:
        "bundle of {wildcards.experiment}, plan {wildcards.plan}"
    script:
        "scripts/bundle_plan.py"
