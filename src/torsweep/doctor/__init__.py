"""What this machine has for each engine, and what it lacks.

:mod:`~torsweep.doctor.tools` finds the programs of others and asks for their versions,
:mod:`~torsweep.doctor.machine` reads memory and limits, :mod:`~torsweep.doctor.engines` says what each
engine could run with them, and :mod:`~torsweep.doctor.report` writes it all for people or programs.
"""
