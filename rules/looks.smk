# Looks: with `replicates=auto`, networks come in batches until every claim is decided. After each batch a
# checkpoint judges the claims; what it finds says whether the next batch is asked for.
from torsweep.pipeline.looks import Looks

looks = Looks(sweep)


checkpoint look_at_claims:
    """Judge the claims on the networks so far: are they decided, or is another batch needed?"""
    input:
        looks.runs,
        experiment=sweep.experiment_file,
        previous=looks.previous,
    output:
        look=f"results/looks/{PLAN_LEVELS}/{{networks}}.json",
    log:
        f"results/logs/looks/{PLAN_LEVELS}/{{networks}}.log",
    wildcard_constraints:
        networks="[0-9]+",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=sweep.source_sha256("tables", "stats", "engines/table_schema.py"),
        previous=looks.previous_argument,
        overrides=looks.arguments,
        runs=looks.run_directories,
    shell:
        "exec 3>&2; step {log:q}"
        " && torsweep results look {wildcards.experiment} --network {wildcards.network:q}"
        " --plan {wildcards.plan} {params.previous} --out {output.look:q} {params.overrides} {params.runs}"
        " | tee >(cat >&3)"


looks.checkpoint = checkpoints.look_at_claims
