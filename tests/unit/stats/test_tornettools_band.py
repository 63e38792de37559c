"""The band over networks against tornettools' own code; skipped by name where it cannot be imported.

tornettools 2.0.0 is on no channel: put its folder on PYTHONPATH. What it says of five runs stands in
``test_intervals.py`` as numbers.
"""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from torsweep.stats.inference.intervals import CONFIDENCE, bands
from torsweep.stats.streams.incidence import COMPLETE, cumulative_incidence


class Recorder:
    """What tornettools draws on: it asks for the axes, and passes points to be drawn."""

    def __init__(self) -> None:
        self.axes = Figure().add_subplot()

    def gca(self) -> object:
        return self.axes

    def plot(self, x: list[float], y: list[float], **_: object) -> list[None]:
        self.middle, self.shares = np.array(x), np.array(y)
        return [None]

    def fill_betweenx(self, _: object, low: list[float], high: list[float], **__: object) -> None:
        self.low, self.high = np.array(low), np.array(high)

    def fill(self, *_: object, **__: object) -> list[None]:
        return [None]


@pytest.mark.parametrize("networks", [2, 3, 8, 30])
def test_the_band_of_the_same_downloads_is_the_same(networks: int) -> None:
    theirs = pytest.importorskip("tornettools.plot_common", reason="tornettools is not on PYTHONPATH")
    generator = np.random.default_rng(networks)
    sizes = generator.integers(400, 3_000, networks)
    runs = [generator.lognormal(1 + 0.2 * generator.normal(), 0.8, size) for size in sizes]
    drawn = Recorder()
    theirs.draw_cdf_ci(drawn, [run.tolist() for run in runs], CONFIDENCE, color="black")
    # Its quantile q of n downloads is number floor((n − 1) q), counted from 0: the curve's at a share
    # within that download's step.
    found = np.empty((networks, len(drawn.shares)))
    for row, run in zip(found, runs, strict=True):
        size = len(run)
        curve = cumulative_incidence(run, np.full(size, COMPLETE), np.zeros(size, dtype=int), 1)
        row[:] = curve.quantiles((np.floor((size - 1) * drawn.shares) + 0.5) / size)[0]
    mean, low, high = bands(found)
    np.testing.assert_allclose(mean, drawn.middle, rtol=1e-13)
    # tornettools lets no time be negative.
    np.testing.assert_allclose(np.maximum(low, 0), drawn.low, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(high, drawn.high, rtol=1e-12)
