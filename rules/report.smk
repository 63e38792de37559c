# Report: one page for each plan, to read and to hand on.
from torsweep.pipeline.leaving import PAGE_TEMPLATES, Leaving

leaving = Leaving(sweep, config)


rule report_plan:
    """Write the page of a plan: claims and verdicts, figures, tables, networks, how to repeat it."""
    input:
        experiment=sweep.experiment_file,
        summaries=multiext(f"{SUMMARIES}/", *SUMMARY_FILES),
        figures=sweep.figures,
        networks=sweep.networks,
    output:
        page=f"results/reports/{PLAN_LEVELS}/{{experiment}}.html",
    log:
        f"results/logs/reports/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        source=sweep.source_sha256("report", "network/describe.py", *PAGE_TEMPLATES),
        summaries=lambda wildcards, input: Path(input.summaries[0]).parent,
        figures=lambda wildcards, input: Path(input.figures[0]).parent,
        networks=leaving.network_directories,
        settings=leaving.settings,
    shell:
        "step {log:q}"
        " && torsweep results report {params.summaries:q} {params.networks} --figures {params.figures:q}"
        " --experiment {input.experiment:q} {params.settings} --out {output.page:q}"
