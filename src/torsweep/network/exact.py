"""Arithmetic that gives the same bits on every machine.

A sampled network is byte-identical wherever it is made, so nothing here calls ``exp``, ``log`` or
``sin``, whose last bit depends on the mathematics library and on the processor's vector units. Only
operations that IEEE 754 rounds correctly are used (+ − × ÷ √), one numpy call each, so that no
compiler fuses two of them. Distributions come as tables of quantiles.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NORMAL_POINTS = 1025
_NORMAL_TAIL = 0.0002
"""Probability cut off each end of the tabulated normal distribution (±3.54 standard deviations)."""


def quantile(table: Floats, probability: Floats) -> Floats:
    """Values at ``probability`` (any shape, 0 ≤ p < 1) of a quantile function tabulated in ``table``
    (points,), at equally spaced probabilities from 0 to 1; linear in between."""
    return conditional_quantile(table[np.newaxis], np.zeros((), np.int64), probability)


def conditional_quantile(tables: Floats, row: NDArray[np.integer], probability: Floats) -> Floats:
    """As :func:`quantile`, each probability with the row of ``tables`` (rows, points) named in ``row``."""
    points = tables.shape[1]
    last = points - 1
    flat = tables.ravel()
    position = np.multiply(probability, float(last))
    below = np.minimum(position.astype(np.int64), last - 1)
    fraction = np.subtract(position, below)
    at = np.add(np.multiply(row, points), below)
    low = flat[at]
    return np.add(low, np.multiply(fraction, np.subtract(flat[at + 1], low)))


def normal_table() -> Floats:
    """Quantiles of the standard normal distribution, shape (1025,), cut at ±3.54."""
    unit = NormalDist()
    width = 1 - 2 * _NORMAL_TAIL
    step = width / (_NORMAL_POINTS - 1)
    return np.array([round(unit.inv_cdf(_NORMAL_TAIL + step * k), 9) for k in range(_NORMAL_POINTS)])


def lognormal_table(median: float, sigma: float) -> Floats:
    """Quantiles of a log-normal distribution, shape (1025,); 12 significant digits kept."""
    return np.array([float(f"{median * math.exp(sigma * z):.12g}") for z in normal_table()])


def whole(values: Floats) -> NDArray[np.int64]:
    """``values`` rounded to the nearest integer, halves to even."""
    return np.rint(values).astype(np.int64)


def mixed_uniform(keys: NDArray[np.uint64]) -> Floats:
    """A number in [0, 1) for each key: the finaliser of SplitMix64, so nearby keys are unrelated."""
    mixed = keys.copy()
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.multiply((mixed >> np.uint64(11)).astype(np.float64), 2.0**-53)
