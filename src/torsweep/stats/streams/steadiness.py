"""Whether the network still changes after the warm-up: one warning where it does.

The measured time is cut into five equal blocks, and downloads are sorted into them by their start. In each
run a straight line is fitted through the logarithms of the blocks' medians. The *drift* is the relative
change along the line from the first block to the last, averaged over the variants of a network. It is told
when its t-interval over networks, simultaneous over all kinds and times (Bonferroni), leaves out 0 and the
change is more than 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from torsweep.runsets.plan_tables import Provenance
from torsweep.stats.inference.intervals import CONFIDENCE, bonferroni, exponential, t_interval
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.incidence import METRICS, downloads, measured_downloads, unless_perf_alone
from torsweep.stats.text import SHOWN_METRICS, change_text

BLOCKS = 5
DRIFT_TOLERANCE = 0.05
"""The largest change over the measured time that does not matter."""


def drift_sentences(analysis: Analysis) -> tuple[str, ...]:
    """Sentences on what drifts in a plan; none where no drift is shown."""
    return unless_perf_alone(lambda of: of.once(_sentences))(analysis) or ()


def _sentences(analysis: Analysis) -> tuple[str, ...]:
    found = drifts(analysis.once(measured_downloads), analysis.provenance)
    return tuple(
        f"{what}, all variants together: {text}"
        for what, logs in found.items()
        if (text := drift_text(logs, len(found)))
    )


def drift_text(logs: np.ndarray, family_size: int) -> str:
    """The change in words, of ``logs``, one for each network; empty where none is shown among ``family_size``
    drifts."""
    each, together = (
        exponential(t_interval(logs, level)) for level in (CONFIDENCE, bonferroni(CONFIDENCE, family_size))
    )
    shown = together.known and not together.low <= 0 <= together.high and abs(each.mean) > DRIFT_TOLERANCE
    return change_text(each.mean, each.low, each.high) if shown else ""


def drifts(streams: pl.DataFrame, provenance: Provenance) -> Mapping[str, np.ndarray]:
    """The logarithms of the change of each time (``bulk, first byte``), one for each network that all
    variants ran on. A block whose median is never reached, because the end of the run cut its downloads off,
    is left out."""
    knobs, warm_up_us = list(provenance.knobs), provenance.warm_up_ns // 1000
    width_us = (provenance.duration_ns - provenance.warm_up_ns) / 1000 / BLOCKS
    block = ((pl.col("start_us") - warm_up_us) / width_us).floor().clip(0, BLOCKS - 1).cast(pl.Int64)
    late = streams.filter(pl.col("start_us") >= warm_up_us).with_columns(block=block)
    found = {}
    for metric, name in SHOWN_METRICS.items():
        rows = downloads(late, METRICS[metric], ["kind", *knobs, "seed", "block"])
        medians = pl.Series("value", rows.incidence().quantiles(np.array([0.5]))[:, 0])
        runs = rows.keys.with_columns(medians).group_by("kind", *knobs, "seed", maintain_order=True)
        changes = runs.agg(pl.struct("block", "value").alias("points")).with_columns(
            change=pl.col("points").map_elements(_log_change, pl.Float64)
        )
        for (kind,), of_kind in changes.group_by("kind", maintain_order=True):
            whole = of_kind.group_by("seed").agg(pl.len(), pl.col("change").mean()).sort("seed")
            ran = whole.filter(pl.col("len") == of_kind.select(knobs).n_unique())
            found[f"{kind}, {name}"] = ran["change"].to_numpy()
    return found


def _log_change(points: pl.Series) -> float:
    """Along a straight line through the logarithms of a run's blocks, from the first block to the last."""
    known = [(point["block"], point["value"]) for point in points if (point["value"] or 0) > 0]
    if len(known) < 2:
        return float("nan")
    blocks, values = np.array(known).T
    return float(np.polyfit(blocks, np.log(values), 1)[0] * (BLOCKS - 1))
