"""From an experiment to what Snakemake makes of it: which runs, where they stand, and how far they are.

:mod:`sweep` works out what a plan consists of, :mod:`results_tree` where everything stands under results/,
:mod:`watch` says how far the runs are, :mod:`failed_step` how a pipeline ends whose step was refused, and
:mod:`publish` gathers what goes out.
"""
