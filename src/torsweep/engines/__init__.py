"""The engines, and what each of them keeps to: a program that takes a run directory and leaves tables in it.

:mod:`run_spec` is the file an engine reads, :mod:`prepare` writes it, :mod:`selection` says which engines
there are. ``shadow/`` and ``emulation/`` run real tor; cellsim is the program of the folder ``cellsim/``.
"""
