# Comparisons of one engine with another, and of a plan's findings under every transport that has finished
# runs. A repeat is the same run with another seed; a replay is cellsim on the circuits that tor chose in a run
# of the reference, and is kept in a folder below the reference's name. With `compare=finished` runs of other
# engines than cellsim are compared as far as they are finished, and none is started.
from torsweep.engines.selection import MODEL_ENGINE
from torsweep.fidelity.places import COMPARISON_FILES, FidelityPlan, SideBySidePlan
from torsweep.findings.places import FINISHED, FindingsPlan
from torsweep.stats.files import FINDINGS_FILES, SIDE_BY_SIDE_FILES

REPEAT = f"results/repeats/{RUN_LEVELS}/provenance.json"
REPLAY = f"results/replays/{{reference}}/{RUN_LEVELS}/provenance.json"
COMPARISON_LEVELS = "{experiment}/{model}_against_{reference}/{era}/{network}/{plan}"
COMPARISON = f"results/fidelity/{COMPARISON_LEVELS}"
FINDINGS_LEVELS = f"{{experiment}}/{FINISHED}/{{era}}/{{network}}/{{plan}}"
FINDINGS = f"results/findings/{FINDINGS_LEVELS}"
ENGINES_LEVELS = "{experiment}/{engines}/{era}/{network}/{plan}"
SIDE_BY_SIDE = f"results/side_by_side/{ENGINES_LEVELS}"

fidelity_plan = FidelityPlan(paths)
findings_plan = FindingsPlan(paths)
side_by_side = SideBySidePlan(paths)


wildcard_constraints:
    model=r"[a-z-]+(\+tcp=[a-z0-9_]+)?",
    reference="[a-z-]+",
    engines="[a-z+-]+",


localrules:
    fidelity,
    findings,
    starvation_engines,


rule starvation_engines:
    """The same streams in every engine that can run here, side by side."""
    input:
        lambda wildcards: side_by_side.targets("starvation"),


rule findings:
    """Claims and contrasts of a plan under every transport that it has run over; starts no run."""
    input:
        lambda wildcards: findings_plan.targets(),


rule fidelity:
    """Two engines on the same networks in the same variants."""
    input:
        lambda wildcards: fidelity_plan.targets(),


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
    shell:
        "(torsweep fidelity repeat {params.original:q} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress) >{log:q} 2>&1"


rule run_replay:
    """Let cellsim run on the circuits that tor chose in a run of the reference."""
    input:
        fidelity_plan.replayed_run,
    output:
        REPLAY,
    log:
        f"results/logs/replays/{{reference}}/{RUN_LEVELS}.log",
    benchmark:
        f"results/benchmarks/replays/{{reference}}/{RUN_LEVELS}.tsv"
    wildcard_constraints:
        engine=MODEL_ENGINE,
    threads: arguments.run_threads
    resources:
        mem_mb=arguments.run_memory_mb,
        runtime=arguments.run_minutes,
    params:
        engine_version=arguments.engine_version,
        engine_run=arguments.engine_run,
        original=fidelity_plan.replayed_directory,
        record=fidelity_plan.replayed_record,
        out=subpath(output[0], parent=True),
    shell:
        "(torsweep fidelity replay {params.original:q} --out {params.out:q} --wait"
        " && {params.engine_run} {params.out:q} --progress) >{log:q} 2>&1"


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
        source=source_sha256("tables", "stats", "fidelity", "engines/table_schema.py"),
        given=fidelity_plan.given,
        runs=fidelity_plan.directories,
        out=subpath(output.text, parent=True),
    shell:
        "torsweep fidelity compare {wildcards.experiment} --era {wildcards.era}"
        " --network {wildcards.network:q} --plan {wildcards.plan}"
        " --model {wildcards.model} --reference {wildcards.reference} --out {params.out:q} {params.runs}"
        " >{log:q} 2>&1"


rule draw_fidelity:
    """Draw every gap beside its floor, and every contrast against the reference's."""
    input:
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
        comparison=subpath(input[0], parent=True),
        stem=subpath(output.pdf, strip_suffix=".pdf"),
    shell:
        "python -m plotting.fidelity overview --comparison {params.comparison:q} --out {params.stem:q}"
        " >{log:q} 2>&1"


rule draw_fidelity_curves:
    """Draw the curves of one variant in both engines, with the floor as a band."""
    input:
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
        comparison=subpath(input[0], parent=True),
        stem=subpath(output[0], strip_suffix=".pdf"),
    shell:
        "python -m plotting.fidelity curves --comparison {params.comparison:q}"
        " --variant {wildcards.variant:q} --out {params.stem:q} >{log:q} 2>&1"


rule compare_transports:
    """Judge the claims of a plan, and measure its contrasts, under each transport."""
    input:
        experiment=paths.experiment_file,
    output:
        multiext(f"{FINDINGS}/", *(name for name in FINDINGS_FILES if name != "findings.md")),
        text=report(
            f"{FINDINGS}/findings.md",
            caption="captions/findings.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "finished", "era": "{era}", "network": "{network}", "what": "findings"},
        ),
    log:
        f"results/logs/findings/{FINDINGS_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        source=source_sha256("tables", "stats", "findings", "engines/table_schema.py"),
        given=findings_plan.given,
        arguments=findings_plan.arguments,
        out=subpath(output.text, parent=True),
    shell:
        "torsweep results findings {wildcards.experiment} --plan {wildcards.plan} {params.arguments}"
        " --out {params.out:q} >{log:q} 2>&1"


rule draw_findings:
    """Draw the verdicts and the contrasts of a plan under each transport."""
    input:
        findings=f"{FINDINGS}/findings.json",
    output:
        pdf=f"{FINDINGS}/findings.pdf",
        png=report(
            f"{FINDINGS}/findings.png",
            caption="captions/findings.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "finished", "era": "{era}", "network": "{network}", "what": "findings"},
        ),
        csv=f"{FINDINGS}/findings.csv",
    log:
        f"results/logs/findings/{FINDINGS_LEVELS}/findings.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        stem=subpath(output.pdf, strip_suffix=".pdf"),
    shell:
        "python -m plotting.findings {input.findings:q} --out {params.stem:q} >{log:q} 2>&1"


rule compare_streams:
    """When each stream of a circuit was complete in several engines, on the same networks."""
    input:
        side_by_side.summaries,
    output:
        multiext(f"{SIDE_BY_SIDE}/", *(name for name in SIDE_BY_SIDE_FILES if name != "side_by_side.md")),
        text=report(
            f"{SIDE_BY_SIDE}/side_by_side.md",
            caption="captions/side_by_side.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{engines}", "era": "{era}", "network": "{network}", "what": "side by side"},
        ),
    log:
        f"results/logs/side_by_side/{ENGINES_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        source=source_sha256("stats"),
        summaries=lambda wildcards, input: [Path(file).parent for file in input],
        out=subpath(output.text, parent=True),
    shell:
        "torsweep results side-by-side {params.summaries:q} --out {params.out:q} >{log:q} 2>&1"


rule draw_engines:
    """Draw when each stream was complete in each engine."""
    input:
        comparison=multiext(f"{SIDE_BY_SIDE}/", *SIDE_BY_SIDE_FILES),
    output:
        pdf=f"{SIDE_BY_SIDE}/stream_engines.pdf",
        png=report(
            f"{SIDE_BY_SIDE}/stream_engines.png",
            caption="captions/side_by_side.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{engines}", "era": "{era}", "network": "{network}", "what": "stream_engines"},
        ),
        csv=f"{SIDE_BY_SIDE}/stream_engines.csv",
    log:
        f"results/logs/side_by_side/{ENGINES_LEVELS}/stream_engines.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        comparison=subpath(input[0], parent=True),
        stem=subpath(output.pdf, strip_suffix=".pdf"),
    shell:
        "python -m plotting.engines {params.comparison:q} --out {params.stem:q} >{log:q} 2>&1"
