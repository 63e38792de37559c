"""From the tables of a plan to summaries: curves, medians, paired differences and verdicts on claims.

The docstrings of modules explain the statistics: :mod:`~torsweep.stats.streams.incidence` (curves that keep
failed and unfinished downloads), :mod:`~torsweep.stats.inference.intervals` (t-intervals over networks),
:mod:`~torsweep.stats.streams.differences`, :mod:`~torsweep.stats.claims.judging`. What one experiment alone
needs stands beside its experiment.yaml (:mod:`~torsweep.stats.listing`).
"""
