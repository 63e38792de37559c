"""The round trips of a network: between its places, and so between its hosts.

In: a matrix of round trips between places, each host's place and what its access link adds. Out:
:class:`Latencies`, by the numbers of hosts, which are their positions among the network's hosts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torsweep.ranges import MOST_RTT_US

Hosts = NDArray[np.integer] | int


@dataclass(frozen=True)
class Latencies:
    """Round trips in microseconds.

    ``matrix_us`` (places, places) int32, symmetric, whose diagonal is the round trip of two hosts at one
    place; ``place`` (hosts,) is each host's row of it and ``access_us`` (hosts,) int64 what its access link
    adds to each round trip. No round trip is below ``floor_us``, none is above a minute.
    """

    matrix_us: NDArray[np.int32]
    place: NDArray[np.integer]
    access_us: NDArray[np.int64]
    floor_us: int

    @property
    def hosts(self) -> int:
        """The number of hosts."""
        return len(self.place)

    def between(self, first: Hosts, second: Hosts) -> NDArray[np.int64]:
        """The round trips of hosts ``first`` and ``second``, of the shape that both broadcast to.

        A host and itself are ``floor_us`` apart.
        """
        first, second = np.asarray(first), np.asarray(second)
        rtt_us = self.matrix_us[self.place[first], self.place[second]].astype(np.int64)
        rtt_us = np.clip(rtt_us + self.access_us[first] + self.access_us[second], self.floor_us, MOST_RTT_US)
        return np.where(first == second, self.floor_us, rtt_us)

    def rows(self, first: int, last: int) -> NDArray[np.int32]:
        """Round trips of hosts ``first`` … ``last`` − 1 to all hosts, (last − first, hosts)."""
        every = np.arange(self.hosts)
        return self.between(every[first:last, None], every).astype(np.int32)
