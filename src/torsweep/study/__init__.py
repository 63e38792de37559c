"""Studies: folders of the user's own, in which the pipeline runs.

:mod:`~torsweep.study.new` makes one to edit. ``torsweep compare`` makes one for a change of tor:
:mod:`~torsweep.study.request` says which, :mod:`~torsweep.study.play` hands it to Snakemake, and
:mod:`~torsweep.study.answer` says what came out.
"""
