"""From the tables of a plan to summaries: curves, medians, paired differences and verdicts on claims.

The statistics are in ``docs`` of each module: :mod:`~torsweep.stats.incidence` (curves that keep failed
and unfinished downloads), :mod:`~torsweep.stats.intervals` (t-intervals over networks),
:mod:`~torsweep.stats.differences`, :mod:`~torsweep.stats.stairs`, :mod:`~torsweep.stats.claims`.
"""
