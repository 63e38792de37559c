"""The Shadow engine: real, patched tor and TGen under the Shadow simulator.

In: a run directory with run.json. Out: the run's tables and provenance; Shadow's own files are in the
run directory's ``shadow`` folder.
"""
