"""Whether the network still changes after the warm-up: one warning where it does.

In: the streams and the relays of a plan. Out: :func:`drift_sentences`, which say what drifts.

The measured time is cut into five equal blocks: downloads by their start, queues by the second. In each run a
straight line is fitted through the logarithms of the blocks' numbers, which are medians of times, or means of
the longest queue at the relay of the ninth decile. The *drift* is the relative change along the line from the
first block to the last. The drifts of a network's variants are averaged, which shows what they have in common
where one is too noisy; and each is compared with the baseline's, which shows effects that depend on the time
at which they are looked at.

A drift is told when its t-interval over networks, simultaneous over all drifts of its kind (Bonferroni),
leaves out 0 and the change is more than 5 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from torsweep.runsets.plan_tables import Provenance, at_levels
from torsweep.stats.inference.intervals import CONFIDENCE, bonferroni, exponential, t_interval
from torsweep.stats.queues import QUEUE_COLUMNS, queues_of_runs
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.incidence import METRICS, downloads, measured_downloads, unless_perf_alone
from torsweep.stats.text import SHOWN_METRICS, percent_text, variant_words

BLOCKS = 5
DRIFT_TOLERANCE = 0.05
"""The largest change over the measured time that does not matter."""

TOGETHER = "all variants together"
QUEUE, RELAY_KIND = "queue", "relays"
_NAMES = {**SHOWN_METRICS, QUEUE: "longest queues, ninth decile"}


@dataclass(frozen=True)
class Drift:
    """What changes (``bulk, first byte``), where, and the logarithms of the change, one for each network."""

    what: str
    where: str
    logs: np.ndarray

    def sentence(self, family_size: int) -> str | None:
        """The drift in words; None where none is shown among ``family_size`` others of its kind."""
        each, all_of_kind = (
            exponential(t_interval(self.logs, level))
            for level in (CONFIDENCE, bonferroni(CONFIDENCE, family_size))
        )
        shown = all_of_kind.known and not all_of_kind.low <= 0 <= all_of_kind.high
        if not shown or abs(each.mean) <= DRIFT_TOLERANCE:
            return None
        bounds = ", ".join(map(percent_text, (each.low, each.high)))
        return f"{self.what}, {self.where}: {percent_text(each.mean)} [{bounds}]"


def drift_sentences(analysis: Analysis) -> tuple[str, ...]:
    """Sentences on what drifts in a plan; none where no drift is shown."""
    return unless_perf_alone(lambda of: of.once(_sentences))(analysis) or ()


def _sentences(analysis: Analysis) -> tuple[str, ...]:
    relays = analysis.tables.relays(QUEUE_COLUMNS)
    found = drifts(analysis.once(measured_downloads), relays, analysis.provenance, analysis.baseline)
    together = sum(one.where.endswith(TOGETHER) for one in found)
    sizes = {True: together, False: len(found) - together}
    told = (one.sentence(sizes[one.where.endswith(TOGETHER)]) for one in found)
    return tuple(sentence for sentence in told if sentence is not None)


def drifts(
    streams: pl.DataFrame, relays: pl.DataFrame, provenance: Provenance, baseline: Mapping[str, str]
) -> list[Drift]:
    """The drifts of all variants together, and of each against the baseline.

    A block whose median is never reached, because the end of the run cut its downloads off, is left out.
    """
    knobs = list(provenance.knobs)
    blocks = _blocks_of_times(streams, provenance, knobs) + _blocks_of_queues(relays, provenance, knobs)
    return [
        drift
        for (metric, kind), of_metric in pl.concat(blocks).group_by(["metric", "kind"], maintain_order=True)
        for drift in _drifts_of(of_metric, f"{kind}, {_NAMES[str(metric)]}", provenance, baseline)
    ]


def _block(time: pl.Expr, provenance: Provenance, per_s: float) -> pl.Expr:
    begin = provenance.warm_up_ns / 1e9 * per_s
    width = (provenance.duration_ns - provenance.warm_up_ns) / 1e9 * per_s / BLOCKS
    return ((time - begin) / width).floor().clip(0, BLOCKS - 1).cast(pl.Int64).alias("block")


def _blocks_of_times(streams: pl.DataFrame, provenance: Provenance, knobs: list[str]) -> list[pl.DataFrame]:
    """Metric, kind, knobs, seed, block and ``value``: the median of the downloads that started in it."""
    late = streams.filter(pl.col("start_us") >= provenance.warm_up_ns // 1000)
    blocked = late.with_columns(_block(pl.col("start_us"), provenance, 1e6))
    frames = []
    for metric in SHOWN_METRICS:
        rows = downloads(blocked, METRICS[metric], ["kind", *knobs, "seed", "block"])
        medians = pl.Series("value", rows.incidence().quantiles(np.array([0.5]))[:, 0])
        frames.append(_named(rows.keys.with_columns(medians), metric, pl.col("kind").cast(pl.String), knobs))
    return frames


def _blocks_of_queues(relays: pl.DataFrame, provenance: Provenance, knobs: list[str]) -> list[pl.DataFrame]:
    by = [*knobs, "seed", "block"]
    blocked = queues_of_runs(relays, knobs).with_columns(_block(pl.col("second"), provenance, 1.0))
    means = blocked.group_by(by, maintain_order=True).agg(pl.col("ninth_decile").mean().alias("value"))
    return [_named(means.sort(by), QUEUE, pl.lit(RELAY_KIND), knobs)]


def _named(frame: pl.DataFrame, metric: str, kind: pl.Expr, knobs: list[str]) -> pl.DataFrame:
    levels = pl.col(knobs).cast(pl.String)
    return frame.select(pl.lit(metric).alias("metric"), kind.alias("kind"), levels, "seed", "block", "value")


def _drifts_of(
    blocks: pl.DataFrame, what: str, provenance: Provenance, baseline: Mapping[str, str]
) -> Iterator[Drift]:
    """The drifts over the networks that all variants ran on; of several sources, those of each."""
    by_reference: dict[str, list[tuple[dict[str, str], dict[int, float]]]] = {}
    for variant in provenance.variants():
        runs = at_levels(blocks, variant).group_by("seed", maintain_order=True)
        of_networks = {
            seed: _log_change(points) for seed, points in runs.agg(pl.struct("block", "value")).rows()
        }
        if of_networks:
            # A dimension that the baseline does not name, such as the source, is the same on both sides.
            by_reference.setdefault(str({**variant, **baseline}), []).append((variant, of_networks))
    for of_variants in by_reference.values():
        shared = sorted(set.intersection(*(set(of_networks) for _, of_networks in of_variants)))
        mean = np.array([np.mean([of_networks[seed] for _, of_networks in of_variants]) for seed in shared])
        held = {knob: level for knob, level in of_variants[0][0].items() if knob not in baseline}
        yield Drift(what, ", ".join(filter(None, (variant_words(held), TOGETHER))), mean)
        reference = next((one for variant, one in of_variants if baseline.items() <= variant.items()), {})
        for variant, of_networks in of_variants:
            if reference and not baseline.items() <= variant.items():
                against = [
                    of_networks[seed] - reference[seed] for seed in sorted(of_networks.keys() & reference)
                ]
                yield Drift(what, f"{variant_words(variant)} against the baseline", np.array(against))


def _log_change(points: list[dict[str, float]]) -> float:
    """Along a straight line through the logarithms of a run's blocks, from the first block to the last."""
    known = [(point["block"], point["value"]) for point in points if (point["value"] or 0) > 0]
    if len(known) < 2:
        return float("nan")
    blocks, values = np.array(known).T
    return float(np.polyfit(blocks, np.log(values), 1)[0] * (BLOCKS - 1))
