"""From an experiment and a network to a run directory that an engine can run.

An engine is a program that takes a run directory and leaves tables in it. :mod:`run_spec` is the file
it reads, :mod:`prepare` writes it, :mod:`selection` says which engines there are, :mod:`results_tree`
where runs stand, :mod:`sweep` which runs an experiment is made of, :mod:`watch` how far they are, and
:mod:`publish` gathers what goes out.
"""
