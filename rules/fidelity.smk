# Fidelity: an engine against another, by default cellsim against Shadow. A repeat is a run again with another
# seed; a replay is cellsim on the circuits that tor chose in a run of the reference, below whose name it
# stands. With `compare=finished` the runs that there are in other engines than cellsim will do.
from torsweep.fidelity.places import FidelityPlan

fidelity_plan = FidelityPlan(sweep)


localrules:
    fidelity,


rule fidelity:
    """Two engines on the same networks in the same variants."""
    input:
        lambda wildcards: fidelity_plan.targets(),


rule run_repeat:
    """Run once more what has been run, with another seed: what lies between the two is chance."""
    input:
        original="results/runs/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/provenance.json",
    output:
        run="results/repeats/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/run.json",
        streams="results/repeats/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/streams.parquet",
        relays="results/repeats/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/relays.parquet",
        provenance="results/repeats/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/provenance.json",
    log:
        "results/logs/repeats/{experiment}/{engine}/{era}/{network}/{seed}/{variant}.log",
    wildcard_constraints:
        engine="cellsim",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=30,
    params:
        engine_version=sweep.engine_version,
        engine_run=sweep.engine_run,
        original=subpath(input.original, parent=True),
        out=subpath(output.run, parent=True),
    shell:
        "exec > {log:q} 2>&1"
        " && torsweep fidelity repeat {params.original:q} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress"


use rule run_repeat as run_repeat_in_shadow with:
    wildcard_constraints:
        engine="shadow|shadow-no-rtt",
    threads: 1
    resources:
        mem_mb=sweep.shadow_memory_mb,
        runtime=24 * 60,


use rule run_repeat as run_repeat_in_emulation with:
    wildcard_constraints:
        engine="emulation",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,


rule run_replay:
    """Let cellsim run on the circuits that tor chose in a run of the reference."""
    input:
        fidelity_plan.replayed_run,
    output:
        run="results/replays/{reference}/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/run.json",
        streams="results/replays/{reference}/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/streams.parquet",
        relays="results/replays/{reference}/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/relays.parquet",
        provenance="results/replays/{reference}/{experiment}/{engine}/{era}/{network}/{seed}/{variant}/provenance.json",
    log:
        "results/logs/replays/{reference}/{experiment}/{engine}/{era}/{network}/{seed}/{variant}.log",
    wildcard_constraints:
        engine="cellsim",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=30,
    params:
        engine_version=sweep.engine_version,
        engine_run=sweep.engine_run,
        original=fidelity_plan.replayed_directory,
        out=subpath(output.run, parent=True),
    shell:
        "exec > {log:q} 2>&1"
        " && torsweep fidelity replay {params.original:q} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress"


rule compare_engines:
    """Measure how far one engine is from the other, beside what a run leaves to chance."""
    input:
        fidelity_plan.runs,
    output:
        multiext(
            "results/fidelity/{experiment}/{model}_against_{reference}/{era}/{network}/{plan}/",
            "distances.csv",
            "cells.csv",
            "contrasts.csv",
            "curves.csv",
            "fidelity.json",
        ),
        text="results/fidelity/{experiment}/{model}_against_{reference}/{era}/{network}/{plan}/fidelity.md",
    log:
        "results/logs/fidelity/{experiment}/{model}_against_{reference}/{era}/{network}/{plan}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=sweep.source_sha256("tables", "stats", "fidelity"),
        seeds=fidelity_plan.seeds,
        out=subpath(output.text, parent=True),
    shell:
        "torsweep fidelity compare {wildcards.experiment} --era {wildcards.era}"
        " --network {wildcards.network:q} --plan {wildcards.plan} --seeds {params.seeds}"
        " --model {wildcards.model} --reference {wildcards.reference}"
        " --out {params.out:q} > {log:q} 2>&1"


rule draw_fidelity:
    """Draw every gap beside its floor, and every contrast against the reference's."""
    input:
        style=sorted(map(str, Path("plotting").glob("*.*"))),
        text="results/fidelity/{experiment}/{model}_against_{reference}/{era}/{network}/{plan}/fidelity.md",
    output:
        multiext(
            "results/fidelity/{experiment}/{model}_against_{reference}/{era}/{network}/{plan}/overview",
            ".pdf",
            ".png",
            ".csv",
        ),
    log:
        "results/logs/fidelity/{experiment}/{model}_against_{reference}/{era}/{network}/{plan}/overview.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        comparison=subpath(input.text, parent=True),
        stem=lambda wildcards, output: Path(output[0]).with_suffix(""),
    shell:
        "python -m plotting.fidelity overview --comparison {params.comparison:q}"
        " --out {params.stem:q} > {log:q} 2>&1"


rule draw_fidelity_curves:
    """Draw the curves of one variant in both engines, with the floor as a band."""
    input:
        style=sorted(map(str, Path("plotting").glob("*.*"))),
        text="results/fidelity/{experiment}/{model}_against_{reference}/{era}/{network}/{plan}/fidelity.md",
    output:
        multiext(
            "results/fidelity/{experiment}/{model}_against_{reference}/{era}/{network}/{plan}/curves/{variant}",
            ".pdf",
            ".png",
            ".csv",
        ),
    log:
        "results/logs/fidelity/{experiment}/{model}_against_{reference}/{era}/{network}/{plan}/curves/{variant}.log",
    conda:
        "../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        comparison=subpath(input.text, parent=True),
        stem=lambda wildcards, output: str(output[0]).removesuffix(".pdf"),
    shell:
        "python -m plotting.fidelity curves --comparison {params.comparison:q}"
        " --variant {wildcards.variant:q} --out {params.stem:q} > {log:q} 2>&1"
