"""Studies: folders of the user's own, in which the pipeline runs.

:mod:`~torsweep.study.new` makes one. ``torsweep compare`` makes one for a change of tor against tor as it
was: :mod:`~torsweep.study.request` holds what the command line asks, :mod:`~torsweep.study.named_tor` reads
which tors it names, :mod:`~torsweep.study.tor_change` puts the two levels of the comparison together,
:mod:`~torsweep.study.effect` says whether they can differ, and :mod:`~torsweep.study.document` writes them as
the study's experiment.yaml. :mod:`~torsweep.study.venue` says which engine runs it,
:mod:`~torsweep.study.workload` what that takes, :mod:`~torsweep.study.play` hands it to Snakemake, and
:mod:`~torsweep.study.answer` says what came out.
"""
