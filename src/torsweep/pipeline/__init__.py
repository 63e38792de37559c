"""What Snakemake plans with.

:mod:`tree` says where everything is, :mod:`paths` which files a rule waits for, :mod:`arguments` what its
command is told, :mod:`hooks` what happens when a pipeline starts.
"""
