"""The emulation engine: real tor processes on this machine's kernel, in real time, over emulated links.

In: a run directory with run.json. Out: the tables of the run and provenance.json, last. Each host has a
network namespace, between which the program linkem moves packets.
:mod:`~torsweep.engines.emulation.process_layout` says what is where,
:mod:`~torsweep.engines.emulation.run` makes a run, with modules for its processes, their network and control
ports, downloads, measurements and the pace, :mod:`~torsweep.engines.emulation.read` makes the tables,
:mod:`~torsweep.engines.emulation.tcp` states how TCP behaves in each era,
:mod:`~torsweep.engines.emulation.rights` what a user needs for it.
"""
