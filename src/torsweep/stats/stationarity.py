"""Did the network still change after the warm-up?

In: the streams of a plan and its provenance. Out: a frame for stationarity.csv.

The measured time is cut into five equal blocks, downloads by their start. In each run a straight line is
fitted through the logarithms of the blocks' medians; ``drift`` is the relative change along it from the
first block to the last. Over networks it has a t-interval; Bonferroni over the variants of a kind and
metric gives the simultaneous one. A drift counts as ``drifting`` when the simultaneous interval leaves out
0 and the change is more than 5 %, as ``steady`` when the 95 % interval lies within ±5 %, else as ``unclear``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from torsweep.stats.intervals import CONFIDENCE, bonferroni, t_interval
from torsweep.stats.metrics import METRICS, downloads
from torsweep.tables.reading import Provenance

BLOCKS = 5
TOLERANCE = 0.05
"""The largest change of the median over the measured time that does not matter."""


def stationarity(streams: pl.DataFrame, provenance: Provenance, knobs: Sequence[str]) -> pl.DataFrame:
    """Drift of the median of times to first and last byte, for every kind and variant.

    Columns: metric, kind, the knobs, ``networks``, ``first_block_s`` and ``last_block_s`` (mean over
    networks of the block's median), ``drift`` with ``drift_low`` and ``drift_high``, and ``verdict``. A block
    whose median is never reached, because the end of the run cut its downloads off, is left out.
    """
    begin_us = provenance.warm_up_ns / 1e3
    width_us = (provenance.duration_ns - provenance.warm_up_ns) / 1e3 / BLOCKS
    block = ((pl.col("start_us") - begin_us) / width_us).floor().clip(0, BLOCKS - 1).cast(pl.Int64)
    blocked = streams.with_columns(block.alias("_block"))
    frames = [_drifts(blocked, metric, ["kind", *knobs]) for metric in ("ttfb", "ttlb")]
    return pl.concat(frames).with_columns(pl.col(pl.Float64).fill_nan(None))


def _drifts(blocked: pl.DataFrame, metric: str, by: list[str]) -> pl.DataFrame:
    rows = downloads(blocked, METRICS[metric], [*by, "seed", "_block"])
    medians = rows.keys.with_columns(pl.Series("median_s", rows.incidence().quantiles(np.array([0.5]))[:, 0]))
    variants = {kind: len(part.unique(by)) for (kind,), part in medians.group_by(["kind"])}
    found = []
    for key, section in medians.group_by(by, maintain_order=True):
        slopes, ends = [], []
        for _, run in section.group_by("seed", maintain_order=True):
            known = run.filter(pl.col("median_s").is_finite())
            slopes.append(_relative_change(known["_block"].to_numpy(), known["median_s"].to_numpy()))
            ends.append(known["median_s"].to_list())
        each = t_interval(slopes)
        together = t_interval(slopes, bonferroni(CONFIDENCE, variants[key[0]]))
        found.append(
            {
                "metric": metric,
                **dict(zip(by, key, strict=True)),
                "networks": each.networks,
                "first_block_s": float(np.mean([end[0] if end else np.nan for end in ends])),
                "last_block_s": float(np.mean([end[-1] if end else np.nan for end in ends])),
                "drift": each.mean,
                "drift_low": each.low,
                "drift_high": each.high,
                "verdict": _verdict(each.low, each.high, together.low, together.high, each.mean),
            }
        )
    return pl.DataFrame(found, schema_overrides={name: rows.keys.schema[name] for name in by})


def _relative_change(blocks: np.ndarray, medians_s: np.ndarray) -> float:
    if len(blocks) < 2:
        return float("nan")
    slope = np.polyfit(blocks, np.log(medians_s), 1)[0]
    return float(np.expm1(slope * (BLOCKS - 1)))


def _verdict(low: float, high: float, together_low: float, together_high: float, drift: float) -> str:
    if not np.isfinite(low):
        return "unclear"
    if (together_low > 0 or together_high < 0) and abs(drift) > TOLERANCE:
        return "drifting"
    return "steady" if low > -TOLERANCE and high < TOLERANCE else "unclear"
