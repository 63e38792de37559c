# Publish: what goes with a result when it leaves this machine.


rule publish_plan:
    """Gather tables, summaries, figures, page, configuration and provenance of a plan, with their checksums."""
    input:
        experiment=sweep.experiment_file,
        tables=multiext(f"{TABLES}/", *TABLE_FILES),
        summaries=multiext(f"{SUMMARIES}/", *SUMMARY_FILES),
        figures=sweep.figures,
        page=f"results/reports/{PLAN_LEVELS}/{{experiment}}.html",
        runs=sweep.runs,
        networks=sweep.networks,
    output:
        experiment=f"{PUBLISHED}/experiment.yaml",
        provenance=f"{PUBLISHED}/provenance.json",
        page=f"{PUBLISHED}/report.html",
        readme=f"{PUBLISHED}/README.md",
        citation=f"{PUBLISHED}/CITATION.cff",
        crate=f"{PUBLISHED}/ro-crate-metadata.json",
        sums=f"{PUBLISHED}/SHA256SUMS",
    log:
        f"results/logs/publish/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        source=sweep.source_sha256("bundle"),
        tables=lambda wildcards, input: Path(input.tables[0]).parent,
        summaries=lambda wildcards, input: Path(input.summaries[0]).parent,
        figures=lambda wildcards, input: Path(input.figures[0]).parent,
        runs=sweep.run_directories,
        credit=leaving.credit,
        settings=leaving.settings,
        out=subpath(output.sums, parent=True),
    shell:
        "step {log:q}"
        " && torsweep run publish {params.runs} --tables {params.tables:q} --summaries {params.summaries:q}"
        " --figures {params.figures:q} --page {input.page:q} --experiment {input.experiment:q}"
        " {params.credit} {params.settings} --out {params.out:q}"


rule bundle_plan:
    """Pack what is published of a plan as one file, which `torsweep verify` checks."""
    input:
        f"{PUBLISHED}/README.md",
        sums=f"{PUBLISHED}/SHA256SUMS",
    output:
        bundle=f"results/bundles/{PLAN_LEVELS}/{{experiment}}.zip",
    log:
        f"results/logs/bundles/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        source=sweep.source_sha256("bundle", "formats/zip_file.py"),
        folder=subpath(input.sums, parent=True),
    shell:
        "step {log:q} && torsweep run bundle {params.folder:q} --out {output.bundle:q}"
