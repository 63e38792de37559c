"""Which findings survive: the claims and contrasts of a plan under every transport that it has run over.

:mod:`~torsweep.findings.transports` finds the runs, :mod:`~torsweep.findings.compare` judges and compares,
:mod:`~torsweep.findings.places` says where in the tree of results it all stands. What comes out is
:class:`torsweep.stats.findings_file.FindingsFile`.
"""
