# Fidelity: an engine against another, by default cellsim against Shadow. A repeat is the same run with
# another seed; a replay is cellsim on the circuits that tor chose in a run of the reference, and is kept in a
# folder below the reference's name. With `compare=finished` runs of other engines than cellsim are compared
# as far as they are finished, and none is started: one that lacks a file is refused before anything is planned.
from torsweep.fidelity.places import COMPARISON_FILES, FidelityPlan

REPEAT = f"results/repeats/{RUN_LEVELS}"
REPLAY = f"results/replays/{{reference}}/{RUN_LEVELS}"
COMPARISON_LEVELS = "{experiment}/{model}_against_{reference}/{era}/{network}/{plan}"
COMPARISON = f"results/fidelity/{COMPARISON_LEVELS}"

fidelity_plan = FidelityPlan(sweep)


localrules:
    fidelity,


rule fidelity:
    """Two engines on the same networks in the same variants."""
    input:
        lambda wildcards: fidelity_plan.targets(),


rule run_repeat:
    """Repeat a run with another seed: the difference between the two is chance."""
    input:
        original=multiext(f"{RUN}/", *RUN_FILES),
    output:
        **named_files(REPEAT, RUN_FILES),
    log:
        f"results/logs/repeats/{RUN_LEVELS}.log",
    benchmark:
        f"results/benchmarks/repeats/{RUN_LEVELS}.tsv"
    wildcard_constraints:
        engine=MODEL_ENGINE,
    threads: 1
    resources:
        mem_mb=needs.memory_mb,
        runtime=needs.minutes,
    params:
        engine_version=sweep.engine_version,
        engine_run=sweep.engine_run,
        original=lambda wildcards, input: Path(input.original[0]).parent,
        out=subpath(output.run, parent=True),
    shell:
        "step {log:q}"
        " && torsweep fidelity repeat {params.original:q} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress"


use rule run_repeat as run_repeat_in_shadow with:
    wildcard_constraints:
        engine="|".join(SHADOW_ENGINES),


use rule run_repeat as run_repeat_in_emulation with:
    wildcard_constraints:
        engine=REAL_TIME_ENGINE,
    threads: needs.whole_machine


rule run_replay:
    """Let cellsim run on the circuits that tor chose in a run of the reference."""
    input:
        fidelity_plan.replayed_run,
    output:
        **named_files(REPLAY, RUN_FILES),
    log:
        f"results/logs/replays/{{reference}}/{RUN_LEVELS}.log",
    benchmark:
        f"results/benchmarks/replays/{{reference}}/{RUN_LEVELS}.tsv"
    wildcard_constraints:
        engine=MODEL_ENGINE,
    threads: 1
    resources:
        mem_mb=needs.memory_mb,
        runtime=needs.minutes,
    params:
        engine_version=sweep.engine_version,
        engine_run=sweep.engine_run,
        original=fidelity_plan.replayed_directory,
        record=fidelity_plan.replayed_record,
        out=subpath(output.run, parent=True),
    shell:
        "step {log:q}"
        " && torsweep fidelity replay {params.original:q} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress"


rule compare_engines:
    """Measure how far one engine is from the other, and how far two runs of one engine differ by chance."""
    input:
        fidelity_plan.runs,
    output:
        multiext(f"{COMPARISON}/", *(name for name in COMPARISON_FILES if name != "fidelity.md")),
        text=report(
            f"{COMPARISON}/fidelity.md",
            caption="captions/fidelity.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "two", "era": "{era}", "network": "{network}", "what": "fidelity"},
        ),
    log:
        f"results/logs/fidelity/{COMPARISON_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        source=sweep.source_sha256("tables", "stats", "fidelity", "engines/table_schema.py"),
        given=fidelity_plan.given,
        runs=fidelity_plan.directories,
        out=subpath(output.text, parent=True),
    shell:
        "step {log:q}"
        " && torsweep fidelity compare {wildcards.experiment} --era {wildcards.era}"
        " --network {wildcards.network:q} --plan {wildcards.plan}"
        " --model {wildcards.model} --reference {wildcards.reference} --out {params.out:q} {params.runs}"


rule draw_fidelity:
    """Draw every gap beside its floor, and every contrast against the reference's."""
    input:
        style=STYLE,
        comparison=multiext(f"{COMPARISON}/", *COMPARISON_FILES),
    output:
        pdf=f"{COMPARISON}/overview.pdf",
        png=report(
            f"{COMPARISON}/overview.png",
            caption="captions/fidelity.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "two", "era": "{era}", "network": "{network}", "what": "fidelity overview"},
        ),
        csv=f"{COMPARISON}/overview.csv",
    log:
        f"results/logs/fidelity/{COMPARISON_LEVELS}/overview.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        comparison=lambda wildcards, input: Path(input.comparison[0]).parent,
        stem=lambda wildcards, output: Path(output.pdf).with_suffix(""),
    shell:
        "step {log:q}"
        " && python -m plotting.fidelity overview --comparison {params.comparison:q} --out {params.stem:q}"


rule draw_fidelity_curves:
    """Draw the curves of one variant in both engines, with the floor as a band."""
    input:
        style=STYLE,
        comparison=multiext(f"{COMPARISON}/", *COMPARISON_FILES),
    output:
        multiext(f"{COMPARISON}/curves/{{variant}}", ".pdf", ".png", ".csv"),
    log:
        f"results/logs/fidelity/{COMPARISON_LEVELS}/curves/{{variant}}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        comparison=lambda wildcards, input: Path(input.comparison[0]).parent,
        stem=lambda wildcards, output: str(output[0]).removesuffix(".pdf"),
    shell:
        "step {log:q}"
        " && python -m plotting.fidelity curves --comparison {params.comparison:q}"
        " --variant {wildcards.variant:q} --out {params.stem:q}"
