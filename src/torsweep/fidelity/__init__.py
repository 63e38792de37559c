"""How far an engine is from another, a model from the real thing: the same networks, eras and variants.

:mod:`~torsweep.fidelity.derive` prepares what the comparison needs beside the runs themselves: the same
run with another seed, whose distance from the first is the noise floor, and cellsim's replay of the
circuits that tor chose. :mod:`~torsweep.fidelity.matches` puts runs side by side,
:mod:`~torsweep.fidelity.distance` measures how far two of them are apart,
:mod:`~torsweep.fidelity.comparison` and :mod:`~torsweep.fidelity.contrasts` judge cells and contrasts
between variants, and :mod:`~torsweep.fidelity.report` writes it down.
"""
