"""torsweep: sweeps of Tor's knobs over sampled private networks.

The sub-packages follow the stages: :mod:`torsweep.config` reads experiments, :mod:`torsweep.network` samples
networks, :mod:`torsweep.engines` prepares and makes runs, :mod:`torsweep.runsets` reads what engines leave
and :mod:`torsweep.stats` summarises it. :mod:`torsweep.pipeline` is what the Snakefile plans with.
"""

from __future__ import annotations

__version__ = "0.1.0"
