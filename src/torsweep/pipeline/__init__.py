"""What Snakemake plans with.

:mod:`paths` says where everything stands and which files a rule waits for, :mod:`arguments` what its command
is told, :mod:`hooks` what happens when a pipeline starts.
"""
