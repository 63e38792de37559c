"""The engines, and the contract of each: an engine is a program that takes a run directory and leaves tables
in it.

:mod:`run_spec` is the file an engine reads, :mod:`prepare` writes it, :mod:`selection` says which engines
there are. Each engine is a package here, and :mod:`contract` says what its ``entry.py`` states: ``cellsim/``
has the model, ``shadow/`` and ``emulation/`` run real tor.
"""
