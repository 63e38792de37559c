"""The loopback engine: real tor processes on this machine's kernel, in real time, on 127.0.0.0/8.

In: a run directory with run.json. Out: the tables of the run and provenance.json, last. One module a part:
:mod:`.addresses` claims a block of addresses, :mod:`.layout` says which process has which and what its torrc
is, :mod:`.processes` starts and ends them, :mod:`.links` delays what they send each other, :mod:`.control`
talks to tor, :mod:`.traffic` downloads, :mod:`.run` puts it together, and :mod:`.read` makes the tables.
"""
