"""From the tables of a plan to summaries: curves, medians, paired differences and verdicts on claims.

What one experiment alone needs stands beside its experiment.yaml (:mod:`~torsweep.stats.listing`).
"""
