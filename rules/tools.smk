# Tools: builds of tor, for the engines that run the real thing. The output is a file whose name has the
# key of the build's source and patches. Its inputs are ancient, so that it is either missing or right, and
# never out of date. If it could be out of date, Snakemake would skip runs that take it as an ancient
# input, even missing ones, and would end as if everything were done.


rule build_tor:
    """Build a tor that an experiment names: one binary for all knobs, which are run-time options."""
    input:
        series=ancient(str(find(SERIES / LISTING))),
        patches=ancient(sorted(map(str, find(SERIES / LISTING).parent.glob("*.patch")))),
    output:
        "results/tools/tor/built-{build}",
    log:
        "results/logs/tools/tor-{build}.log",
    # A build that fails should fail before hours of other runs.
    priority: 1
    threads: 4
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        source=arguments.tor_source,
        out=subpath(output[0], parent=True),
    message:
        "tor: {output}"
    shell:
        # The folder is a link in a study of `compare`, which shares the builds of another folder.
        'torsweep tor build {params.source} --out "$(realpath {params.out:q})" --stamp {output:q}'
        " --jobs {threads}"
        " >{log:q} 2>&1"
