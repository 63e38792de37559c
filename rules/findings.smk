# Findings: the claims and contrasts of a plan under every transport that has finished runs of it. They are
# made from finished runs: no rule makes a run for them, and a parameter changes when one of the runs changes.
findings_plan = FindingsPlan(sweep)


rule compare_transports:
    """Judge the claims of a plan, and measure its contrasts, under each transport."""
    input:
        findings_plan.runs,
        experiment=sweep.experiment_file,
    output:
        multiext(f"{FINDINGS}/", *(name for name in FINDINGS_FILES if name != "findings.md")),
        text=report(
            f"{FINDINGS}/findings.md",
            caption="captions/findings.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{asked}", "era": "{era}", "network": "{network}", "what": "findings"},
        ),
    log:
        f"results/logs/findings/{FINDINGS_LEVELS}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=20,
    params:
        source=sweep.source_sha256("tables", "stats", "findings", "engines/table_schema.py"),
        given=findings_plan.given,
        arguments=findings_plan.arguments,
        out=subpath(output.text, parent=True),
    shell:
        "step {log:q}"
        " && torsweep results findings {wildcards.experiment} --plan {wildcards.plan} {params.arguments}"
        " --out {params.out:q}"


rule draw_findings:
    """Draw the verdicts and the contrasts of a plan under each transport."""
    input:
        style=STYLE,
        findings=f"{FINDINGS}/findings.json",
    output:
        pdf=f"{FINDINGS}/findings.pdf",
        png=report(
            f"{FINDINGS}/findings.png",
            caption="captions/findings.rst",
            category="{experiment}",
            subcategory="{plan}",
            labels={"engine": "{asked}", "era": "{era}", "network": "{network}", "what": "findings"},
        ),
        csv=f"{FINDINGS}/findings.csv",
    log:
        f"results/logs/findings/{FINDINGS_LEVELS}/findings.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        stem=lambda wildcards, output: Path(output.pdf).with_suffix(""),
    shell:
        "step {log:q} && python -m plotting.findings {input.findings:q} --out {params.stem:q}"
