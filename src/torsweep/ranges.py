"""Ranges that keys of several files have in common.

Each bound says why it is there; the models that use them give their fields' own.
"""

from __future__ import annotations

MOST_RATE_BYTES_PER_S = 12_500_000_000
"""100 Gbit/s: faster than the link of any relay or household; a rate above it is in another unit."""

MOST_CONFIGURED_BYTES = 2**37
"""The most bytes of a relay's own rate or burst: tor states at most 2³¹ − 1
(``ROUTER_MAX_DECLARED_BANDWIDTH``)."""

MOST_CONSENSUS_WEIGHT = 2**32 - 1
"""Weights of a consensus are whole numbers of 32 bits (dir-spec, "w" line)."""

MOST_RTT_US = 60_000_000
"""A minute: every transport has given up by then, so that more is a slip of the file or of its unit."""

MOST_NODES = 1_000_000
"""Twice the live network: 8,000 relays and some half a million clients that are active at once."""

MOST_NETWORK_BYTES = 2**28
"""network.json has about 140 bytes a host: 140 MB for as many hosts as there can be."""

MOST_PLACES = 20_000
"""The matrix of their round trips takes four bytes for each two: 1.6 GB at this size."""

LEAST_SCALE = 0.003
"""Of 7,000 relays some 20 are left at this scale: about as few as can have several in each position."""

MOST_LOSS_SHARE = 0.2
"""A path that loses more packets carries next to nothing: TCP takes each loss for congestion."""

LEAST_BUCKET_BYTES_PER_S = 20 * 1024
"""``ROUTER_REQUIRED_MIN_BANDWIDTH`` of tor 0.2.1, which a model can run."""

LEAST_TOR_RATE_BYTES_PER_S = 75 * 1024
"""The least rate of tor 0.4.9, which refuses a relay with a lower ``BandwidthRate``."""

HOUR_NS = 3_600 * 10**9
WEEK_NS = 7 * 24 * HOUR_NS
