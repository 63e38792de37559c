"""From run directories to the tables of a plan.

:mod:`~torsweep.tables.collect` gathers the runs of a plan, :mod:`~torsweep.tables.reading` opens what was
gathered; :mod:`torsweep.engines.table_schema` says what each column means.
"""
