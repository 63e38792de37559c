"""Quantile tables of client bandwidth from regional means.

In: mean download and upload rates of regions (countries, states, cities, tiles) and how much each
counts. Out: the between-regions part of a :class:`ClientBandwidth`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torsweep.network.clients import ClientBandwidth
from torsweep.network.exact import Floats

_DOWN_POINTS = 101
_UP_POINTS = 21
_STRATA = 10


def table_of_regions(down: Floats, up: Floats, weight: Floats, origin: dict[str, Any]) -> ClientBandwidth:
    """The table of regions with mean rates ``down`` and ``up`` (bytes/s), all arguments (regions,).

    Regions are ranked by download rate; upload quantiles are those of the regions (or the parts of
    them) in each tenth of the weight, so that fast downloads keep their fast uploads.
    """
    order = np.argsort(down, kind="stable")
    down, up, weight = down[order], up[order], weight[order] / weight.sum()
    above = np.cumsum(weight)
    below = above - weight
    strata = []
    for number in range(_STRATA):
        low, high = number / _STRATA, (number + 1) / _STRATA
        inside = np.clip(np.minimum(above, high) - np.maximum(below, low), 0, None)
        strata.append(_weighted_quantiles(up, inside, _UP_POINTS))
    return ClientBandwidth(_weighted_quantiles(down, weight, _DOWN_POINTS), np.stack(strata), origin)


def _weighted_quantiles(values: Floats, weight: Floats, points: int) -> Floats:
    """Quantiles at equally spaced probabilities, linear between the middles of the values' weights."""
    held = weight > 0
    order = np.argsort(values[held], kind="stable")
    ranked, share = values[held][order], weight[held][order]
    middle = (np.cumsum(share) - share / 2) / share.sum()
    return np.interp(np.linspace(0, 1, points), middle, ranked)
