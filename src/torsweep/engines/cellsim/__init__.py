"""The cellsim engine: a model of tor and TCP in simulated time, the program of the folder ``cellsim/``.

In: a run directory with run.json. Out: the run's tables and provenance, which the program writes itself
(``cellsim/src/spec.rs``, ``tables.rs``).
"""
