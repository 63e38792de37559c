"""What this machine has for each engine, and what it lacks.

:mod:`~torsweep.machine` reads memory and limits; :mod:`~torsweep.doctor.diagnose` says what each
engine could run with them and with the tools that are there.
"""
