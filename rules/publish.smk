# Publish: everything that belongs to a result when it leaves this machine. Every file of a published folder
# is an output, so that a missing file is made again. The figures in the folder depend on the experiment, so
# each experiment has a rule of its own.
from torsweep.pipeline.leaving import published_files

for name, experiment in EXPERIMENTS.items():

    rule:
        name:
            f"publish_{name}"
        input:
            experiment=sweep.experiment_file,
            tables=multiext(f"{TABLES}/", *TABLE_FILES),
            summaries=multiext(f"{SUMMARIES}/", *SUMMARY_FILES),
            figures=sweep.figures,
            page=f"results/reports/{PLAN_LEVELS}/{{experiment}}.html",
            runs=sweep.runs,
            networks=sweep.networks,
        output:
            [f"{PUBLISHED}/{file}" for file in published_files(experiment.figures)],
        log:
            f"results/logs/publish/{PLAN_LEVELS}.log",
        wildcard_constraints:
            experiment=name,
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
            out=subpath(output[0], parent=True),
        shell:
            "step {log:q}"
            " && torsweep run publish {params.runs} --tables {params.tables:q} --summaries {params.summaries:q}"
            " --figures {params.figures:q} --page {input.page:q} --experiment {input.experiment:q}"
            " {params.credit} {params.settings} --out {params.out:q}"

    workflow.get_rule(f"publish_{name}").docstring = (
        "Gather tables, summaries, figures, page, configuration and provenance of a plan, with their checksums."
    )


rule bundle_plan:
    """Pack what is published of a plan as one file, which `torsweep verify` checks."""
    input:
        leaving.published,
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
        folder=subpath(input[0], parent=True),
    shell:
        "step {log:q} && torsweep run bundle {params.folder:q} --out {output.bundle:q}"
