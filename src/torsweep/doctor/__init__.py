"""What this machine has for each engine, and what it lacks.

:mod:`~torsweep.doctor.machine` reads memory and limits, :mod:`~torsweep.doctor.engines` says what each engine
could run with them and with the tools that :mod:`torsweep.engines.tools` finds, and
:mod:`~torsweep.doctor.report` writes it all for people or programs.
"""
