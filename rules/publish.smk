# Publish: what goes with a result when it leaves this machine.


rule publish_plan:
    """Gather figures, summaries, configuration and provenance of a plan, with their checksums."""
    input:
        experiment=sweep.experiment_file,
        summary="results/summaries/{experiment}/{engine}/{era}/{network}/{plan}/summary.md",
        figures=sweep.figures,
        runs=sweep.runs,
        networks=sweep.networks,
    output:
        sums="results/publish/{experiment}/{engine}/{era}/{network}/{plan}/SHA256SUMS",
        readme="results/publish/{experiment}/{engine}/{era}/{network}/{plan}/README.md",
        provenance="results/publish/{experiment}/{engine}/{era}/{network}/{plan}/provenance.json",
    log:
        "results/logs/publish/{experiment}/{engine}/{era}/{network}/{plan}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        summaries=subpath(input.summary, parent=True),
        figures=lambda wildcards, input: Path(input.figures[0]).parent,
        runs=sweep.run_directories,
        out=subpath(output.sums, parent=True),
    shell:
        "torsweep run publish {params.summaries:q} {params.runs} --figures {params.figures:q}"
        " --experiment {input.experiment:q} --out {params.out:q} > {log:q} 2>&1"
