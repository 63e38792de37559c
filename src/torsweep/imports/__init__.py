"""Results that others made with tornettools, in the tables of torsweep's runs; and two sets of them compared.

In: folders of simulations. Out: :mod:`torsweep.imports.stored` says what an import is on disk,
:mod:`torsweep.imports.compare` what is said of two of them.
"""
