"""From run directories to the tables of a plan.

:mod:`~torsweep.runsets.collect` gathers the runs of a plan, :mod:`~torsweep.runsets.reading` opens what was
gathered; :mod:`torsweep.engines.table_schema` says what each column means.
"""
