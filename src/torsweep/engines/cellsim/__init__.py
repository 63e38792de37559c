"""The cellsim engine: a model of tor and TCP in simulated time, the program of the folder ``cellsim/``.

In: a run directory with run.json. Out: the run's tables and provenance. The program reads run.json and writes
the tables itself (``cellsim/src/spec.rs``, ``tables.rs``), so there is no ``directory`` or ``read`` here as
in the engines that run real tor.
"""
