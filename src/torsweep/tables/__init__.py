"""From run directories to the tables of a plan.

:mod:`~torsweep.tables.schema` says what each column means, :mod:`~torsweep.tables.collect` gathers the
runs of a plan, :mod:`~torsweep.tables.reading` opens what was gathered.
"""
