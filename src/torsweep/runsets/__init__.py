"""Sets of runs, whoever made them: from run folders to the tables of a plan.

A set is runs × dimensions (knobs, tor, source, import) × networks. :mod:`~torsweep.runsets.run` opens one
run, or the runs of engines side by side, and prepares repeats; :mod:`~torsweep.runsets.imported` opens those
that others made with tornettools. :mod:`~torsweep.runsets.collect` gathers a set, and
:mod:`~torsweep.runsets.plan_tables` opens what was gathered.
"""
