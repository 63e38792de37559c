"""The emulation engine: real tor processes on this machine's kernel, in real time, over emulated links.

In: a run directory with run.json. Out: the tables of the run and provenance.json, last. Each host has a
network namespace, between which the program linkem moves packets.
"""
