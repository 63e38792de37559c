"""The loopback engine: real tor processes on this machine's kernel, in real time, on 127.0.0.0/8.

In: a run directory with run.json. Out: the tables of the run and provenance.json, last. One module a part:
:mod:`~torsweep.loopback.addresses` claims a block of addresses, :mod:`~torsweep.loopback.layout` says which
process has which and what its torrc is, :mod:`~torsweep.loopback.processes` starts and ends them,
:mod:`~torsweep.loopback.links` delays what they send each other, :mod:`~torsweep.loopback.control` talks to
tor, :mod:`~torsweep.loopback.traffic` downloads, and :mod:`~torsweep.loopback.engine` puts it together.
"""
