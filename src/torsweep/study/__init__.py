"""Studies: folders of the user's own, in which the pipeline runs.

:mod:`~torsweep.study.new` makes one. ``torsweep compare`` makes one for a change of tor against tor as it
was: :mod:`~torsweep.study.named_tor` reads which tors the command line names,
:mod:`~torsweep.study.change` puts the two levels of the comparison together and
:mod:`~torsweep.study.document` writes them as the study's experiment.yaml. :mod:`~torsweep.study.venue` says
which engine plays it here, :mod:`~torsweep.study.workload` what that will take, :mod:`~torsweep.study.play`
hands it to Snakemake, :mod:`~torsweep.study.answer` says what came out, and
:mod:`~torsweep.study.look_record` keeps that it has been seen.
"""
