# Tools: tor with the patch series, for the engines that run the real thing.


rule build_tor:
    """Build tor from its release source: one binary, since every knob is a run-time option."""
    input:
        series="patches/tor/series",
        patches=sorted(map(str, Path("patches/tor").glob("*.patch"))),
    output:
        pointer="results/tools/tor/tor.json",
    log:
        "results/logs/tools/tor.log",
    conda:
        "../environment.yml"
    threads: 4
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        source=sweep.tor_source_arguments,
        out=subpath(output.pointer, parent=True),
    shell:
        "set -o pipefail;"
        " torsweep tor build {params.source} --out {params.out:q} --jobs {threads} 2>&1 | tee {log:q}"
