"""Real tor on a chain of three relays, without any network but this machine's own.

In: the name of a plan, a build of tor. Out: rows of numbers as CSV and as Markdown, and how they were made.
Relays are compared side by side, in turns and without links (:mod:`~torsweep.chain.turns`).
"""
