"""What runs of a network's variants have in common, beside the network: the key ``pairing`` of an experiment.

Clients' starts, servers and pauses are the same draws in every variant. With ``paths`` so are the paths of
their circuits, drawn from the network's seed; with ``free`` each tor draws its own.
"""

from __future__ import annotations

from typing import Literal

Pairing = Literal["free", "paths"]

FREE: Pairing = "free"
PATHS: Pairing = "paths"
