# Comparisons of two or more sources: sets of runs of the same plan, each by one engine over one transport. A
# repeat is the same run with another seed; a replay is cellsim on the circuits that tor chose in a run of
# another engine, and is kept in a folder below that engine's name. For engines that run tor, only finished
# runs are compared; missing ones are made only with `compare=all`.
from torsweep.compare.plan import ComparisonPlan
from torsweep.engines.selection import ENGINES, MODEL_ENGINE

REPEAT = f"results/repeats/{RUN_LEVELS}/provenance.json"
REPLAY = f"results/replays/{{replayed}}/{RUN_LEVELS}/provenance.json"
COMPARISON_LEVELS = "{experiment}/{sources}/{era}/{network}/{plan}"
COMPARISON = f"results/compare/{COMPARISON_LEVELS}"

comparisons = ComparisonPlan(paths)


wildcard_constraints:
    replayed="[a-z-]+",
    sources="[^/]+_vs_[^/]+",


rule compare:
    """Sets of runs on the same networks: how far apart they are, and which findings survive in all of them."""
    input:
        lambda wildcards: comparisons.targets(),
    localrule: True
    message:
        "compare"


rule run_repeat:
    """Repeat a run with another seed: the difference between the two is chance."""
    input:
        RUN,
    output:
        REPEAT,
    log:
        f"results/logs/repeats/{RUN_LEVELS}.log",
    benchmark:
        f"results/benchmarks/repeats/{RUN_LEVELS}.tsv"
    threads: arguments.run_threads
    resources:
        mem_mb=arguments.run_memory_mb,
        runtime=arguments.run_minutes,
        slurm_extra=arguments.run_node,
    params:
        engine_version=arguments.engine_version,
        engine_run=arguments.engine_run,
        original=subpath(input[0], parent=True),
        out=subpath(output[0], parent=True),
    message:
        "repeat {wildcards.experiment} {wildcards.variant} on {wildcards.network}, seed {wildcards.seed}"
    shell:
        "(torsweep run repeat {params.original:q} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress) >{log:q} 2>&1"


rule run_replay:
    """Let cellsim run on the circuits that tor chose in a run of another engine."""
    input:
        comparisons.replayed_run,
    output:
        REPLAY,
    log:
        f"results/logs/replays/{{replayed}}/{RUN_LEVELS}.log",
    benchmark:
        f"results/benchmarks/replays/{{replayed}}/{RUN_LEVELS}.tsv"
    wildcard_constraints:
        engine=MODEL_ENGINE,
    threads: arguments.run_threads
    resources:
        mem_mb=arguments.run_memory_mb,
        runtime=arguments.run_minutes,
    params:
        engine_version=arguments.engine_version,
        engine_run=arguments.engine_run,
        original=comparisons.replayed_directory,
        record=comparisons.replayed_record,
        out=subpath(output[0], parent=True),
    message:
        "replay {wildcards.experiment} {wildcards.variant} on {wildcards.network}, seed {wildcards.seed}"
    shell:
        "(torsweep run replay {params.original:q} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress) >{log:q} 2>&1"


rule compare_runs:
    """Measure how far sources are apart, compared with chance, and which verdicts and contrasts survive."""
    input:
        comparisons.runs,
        experiment=paths.experiment_file,
    output:
        manifest=f"{COMPARISON}/comparison.json",
        text=report(
            f"{COMPARISON}/comparison.md",
            caption="captions/compare.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{sources}", "era": "{era}", "network": "{network}", "what": "comparison"},
        ),
    log:
        f"results/logs/compare/{COMPARISON_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        source=source_sha256("compare", "stats"),
        given=comparisons.given,
        arguments=comparisons.arguments,
        out=subpath(output.manifest, parent=True),
    message:
        "comparison of {wildcards.sources} in {wildcards.experiment}, plan {wildcards.plan}"
    shell:
        "torsweep results compare {wildcards.experiment} --era {wildcards.era} --plan {wildcards.plan}"
        " {params.arguments} --out {params.out:q} >{log:q} 2>&1"


rule draw_comparison:
    """Draw every figure for which the comparison has the tables."""
    input:
        style=sorted(map(str, find_all(FIGURES_DIRECTORY, "**/*.py"))),
        comparison=f"{COMPARISON}/comparison.json",
    output:
        report(
            directory(f"{COMPARISON}/figures"),
            patterns=["{name}.png"],
            caption="captions/compare.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{sources}", "era": "{era}", "network": "{network}", "what": "{name}"},
        ),
    log:
        f"results/logs/compare/{COMPARISON_LEVELS}/figures.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=5,
    params:
        looks=source_sha256(*LOOKS, *(f"engines/{name}/entry.py" for name in ENGINES)),
        comparison=subpath(input.comparison, parent=True),
    message:
        "figures of the comparison of {wildcards.sources} in {wildcards.experiment}, plan {wildcards.plan}"
    shell:
        "torsweep results draw compare {params.comparison:q} --out {output:q} >{log:q} 2>&1"
