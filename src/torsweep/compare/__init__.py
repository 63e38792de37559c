"""How two or more sets of runs on the same networks differ.

:mod:`~torsweep.compare.sources` says what a set of runs is and reads it, :mod:`~torsweep.compare.derive`
prepares runs that exist to be compared (repeats, replays). :mod:`~torsweep.compare.distances`,
:mod:`~torsweep.compare.contrasts`, :mod:`~torsweep.compare.verdicts` and :mod:`~torsweep.compare.streams`
measure; :mod:`~torsweep.compare.comparison` puts it together and keeps it in a folder,
:mod:`~torsweep.compare.text` writes it down, :mod:`~torsweep.compare.plan` says which files Snakemake makes.
"""
