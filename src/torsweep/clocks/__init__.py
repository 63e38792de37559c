"""What a call costs for every clock of this system.

The measuring is done by a small program in Rust (``clocks/``), because a call from Python costs more than
most clocks; :mod:`~torsweep.clocks.cli` starts it and prints what it says.
"""
