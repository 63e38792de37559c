"""Named random streams: every draw comes from one named by what it is for.

Streams are independent: adding a client changes no relay, and a new use of randomness changes no old one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MOST_SEED = 2**31
"""Seeds are whole numbers from 0 to this."""

REPEAT_SEED_STEP = 1_000_000
"""Far from any seed of a network, so that no repeat shares its draws with another replicate."""


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The generator of the stream ``names`` under ``seed``: the same bits on every machine.

    The name is hashed with SHA-256 into the 128-bit key of a Philox counter generator.
    """
    # `torsweep --help` needs the bounds of a seed, and would wait a tenth of a second for NumPy.
    import numpy as np

    label = "\x1f".join(["torsweep", str(seed), *map(str, names)])
    digest = hashlib.sha256(label.encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))


def repeat_seed(seed: int) -> int:
    """The seed of the repeat of a run with ``seed``."""
    return (seed + REPEAT_SEED_STEP) % (MOST_SEED + 1)
