"""torsweep: sweeps of Tor's knobs over sampled private networks.

The sub-packages follow the stages of the pipeline: :mod:`torsweep.config` reads experiments,
:mod:`torsweep.network` samples networks, :mod:`torsweep.engines` prepares runs,
:mod:`torsweep.tables` reads what engines leave and :mod:`torsweep.stats` summarises it.
"""

from __future__ import annotations

__version__ = "0.1.0"
