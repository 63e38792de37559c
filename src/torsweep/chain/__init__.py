"""Real tor on a chain of three relays, without any network but this machine's own.

In: the name of a plan, a build of tor. Out: rows of numbers as CSV and as Markdown, and how they were made.
Plans in turns (:mod:`~torsweep.chain.turns`) compare relays side by side without links; plans of runs
(:mod:`~torsweep.chain.runs`) are runs of the emulation over links with round trips.
"""
