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
        directory("results/publish/{experiment}/{engine}/{era}/{network}/{plan}"),
    log:
        "results/logs/publish/{experiment}/{engine}/{era}/{network}/{plan}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        networks=lambda wildcards, input: [Path(file).parent for file in input.networks],
        runs=sweep.run_directories,
    shell:
        "python -m torsweep.engines.publish --experiment {input.experiment:q}"
        " --summaries $(dirname {input.summary:q}) --figures $(dirname {input.figures[0]:q})"
        " --out {output:q} {params.runs:q} > {log:q} 2>&1"
