# Publish: what goes with a result when it leaves this machine.


rule publish_plan:
    """Gather figures, summaries, configuration and provenance of a plan, with their checksums."""
    input:
        experiment=sweep.experiment_file,
        summaries=multiext(f"{SUMMARIES}/", *SUMMARY_FILES),
        figures=sweep.figures,
        runs=sweep.runs,
        networks=sweep.networks,
    output:
        experiment=f"{PUBLISHED}/experiment.yaml",
        provenance=f"{PUBLISHED}/provenance.json",
        readme=f"{PUBLISHED}/README.md",
        sums=f"{PUBLISHED}/SHA256SUMS",
    log:
        f"results/logs/publish/{PLAN_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        summaries=lambda wildcards, input: Path(input.summaries[0]).parent,
        figures=lambda wildcards, input: Path(input.figures[0]).parent,
        runs=sweep.run_directories,
        out=subpath(output.sums, parent=True),
    shell:
        "step {log:q}"
        " && torsweep run publish {params.summaries:q} {params.runs} --figures {params.figures:q}"
        " --experiment {input.experiment:q} --out {params.out:q}"
