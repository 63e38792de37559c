"""Ticks, numbers and notes on axes.

In: axes whose limits are set. Out: the same axes with few ticks, written without exponents.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, PercentFormatter

from plotting.drawing.palette import GREY, TEXT_WIDTH_IN

MOST_CHANGE = 10.0
"""A change beyond it is not written out."""
MOST = 5
"""Ticks that fit below a panel half a column wide."""


def seconds_formatter() -> FuncFormatter:
    """Seconds as plain decimals: 0.2, 5, 100."""
    return FuncFormatter(lambda value, _: f"{value:g}")


def signed_percent(share: float) -> str:
    """A part as a percentage without the sign of per cent: 0, +2.5, −10."""
    return f"{share * 100:+g}".replace("-", "−") if share else "0"


def change_text(mean: float | None, low: float | None, high: float | None) -> str:
    """A change and its interval in per cent, where there are any: ``+8.4 [−0.9, +19]``, ``+43``."""
    if mean is None:
        return "not reached"
    bounds = "" if low is None or high is None else f" [{_rounded(low)}, {_rounded(high)}]"
    return _rounded(mean) + bounds


def _rounded(share: float) -> str:
    """A rounded number as text; with two networks an interval can have any size."""
    if share > MOST_CHANGE:
        return f"over {MOST_CHANGE * 100:,.0f}"
    return signed_percent(round(share, 3 if abs(share) < 0.0995 else 2))


def percent_formatter() -> FuncFormatter:
    """Changes as :func:`signed_percent` has them."""
    return FuncFormatter(lambda share, _: signed_percent(round(share, 4)))


def change_axis(axis: Axes, width_in: float = TEXT_WIDTH_IN / 2) -> None:
    """Let the x axis show relative changes, with a line at zero, and the y axis names only; below a narrow
    panel fit fewer numbers of three digits than of two."""
    axis.axvline(0, color=GREY, linewidth=0.7, zorder=1)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    narrow = width_in < TEXT_WIDTH_IN / 2 and max(map(abs, axis.get_xlim())) > 1
    steps = [1, 2, 4, 5, 10] if narrow else [1, 2, 2.5, 5, 10]
    axis.xaxis.set_major_locator(MaxNLocator(3 if narrow else 5, steps=steps, min_n_ticks=3))
    axis.xaxis.set_major_formatter(percent_formatter())


def share_text(share: float) -> str:
    """A part as a percentage with two digits: ``0 %``, ``< 0.01 %``, ``0.02 %``, ``3.4 %``, ``12 %``."""
    percent = 100 * share
    if 0 < percent < 0.01:
        return "< 0.01 %"
    return f"{percent:.2g} %" if percent < 99.5 else f"{percent:.0f} %"


def share_axis(axis: Axes) -> None:
    """Make the y axis one of shares, from 0 to 100 %."""
    axis.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    axis.set(yticks=[0, 0.25, 0.5, 0.75, 1], ylim=(0, 1.02))


def log_ticks(low: float, high: float) -> FixedLocator:
    """Three to five ticks of a logarithmic axis: powers of ten with 2 and 5, or what is round."""
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = np.sort(np.outer(decades, steps).ravel())
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) <= MOST:
            break
    intervals = MOST - 1
    while len(ticks) < 3:
        round_ones = MaxNLocator(intervals, steps=[1, 2, 5, 10]).tick_values(low, high)
        ticks = np.array([one for one in round_ones if low <= one <= high])
        intervals += 1
    return FixedLocator(ticks.tolist())


def plain_log_ticks(axis: Axes) -> None:
    """The ticks of :func:`log_ticks` on the x axis."""
    axis.xaxis.set_major_locator(log_ticks(*axis.get_xlim()))
    axis.xaxis.set_major_formatter(seconds_formatter())
    axis.xaxis.set_minor_formatter(NullFormatter())


def say_nothing_is_here(axis: Axes, why: str) -> None:
    """Write in the middle of an empty panel ``why`` it is empty."""
    middle = axis.transAxes
    axis.text(0.5, 0.5, why, transform=middle, ha="center", va="center", color=GREY, backgroundcolor="white")
