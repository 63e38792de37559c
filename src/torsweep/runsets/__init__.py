"""Sets of runs, whoever made them: from run folders to the tables of a plan.

A set is runs × dimensions (knobs, tor, source, import) × networks. :mod:`~torsweep.runsets.run` opens one
run, :mod:`~torsweep.runsets.sources` the runs of engines side by side, :mod:`~torsweep.runsets.imported`
those that others made with tornettools; :mod:`~torsweep.runsets.sources` prepares repeats.
:mod:`~torsweep.runsets.collect` gathers a set, :mod:`~torsweep.runsets.reading` opens what was gathered.
"""
