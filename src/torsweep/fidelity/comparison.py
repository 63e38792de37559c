"""Cells of the comparison: a time of a kind of client in a variant, and how far the model is from it.

In: matches. Out: two frames. ``distances`` has a row for each match, kind, metric and series but the
reference; a reference's repeat stands against the reference, a model's repeat against the model. ``cells``
has a row for each variant, kind and metric, means over networks, with the floor and a verdict.

The floor is the distance between the reference and its repeat: the difference that chance alone makes. It is
the variant's own where that was repeated, else the mean of the variants that were. A cell is within the aim
when the model's distance is at most :data:`MARGIN` above the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import polars as pl

from torsweep.config.traffic import KINDS
from torsweep.fidelity.distance import PROBABILITIES, SHOWN_METRICS, Curve, curve, distance
from torsweep.fidelity.matches import (
    MODEL,
    MODEL_REPEAT,
    REFERENCE,
    REFERENCE_REPEAT,
    REPLAY,
    SERIES,
    Match,
)
from torsweep.tables.reading import level_order

MARGIN = 0.05
"""How much of a gap, beyond that between two runs of the reference, the model may have."""

WITHIN, BEYOND, UNKNOWN = "within", "beyond", "not known"

Curves = dict[tuple[int, str, str, str], Curve]
"""By number of the match, series, kind and metric."""

_COMPARED_WITH = {MODEL: REFERENCE, REPLAY: REFERENCE, REFERENCE_REPEAT: REFERENCE, MODEL_REPEAT: MODEL}


def all_curves(matches: Sequence[Match]) -> Curves:
    """Every curve of every run, where there are downloads."""
    found: Curves = {}
    for number, match in enumerate(matches):
        for series in match.runs:
            streams = match.streams(series)
            for kind, metric in product(KINDS, SHOWN_METRICS):
                made = curve(streams, kind, metric)
                if made is not None:
                    found[number, series, kind, metric] = made
    return found


def distances(matches: Sequence[Match], curves: Curves) -> pl.DataFrame:
    """A row for each match, kind, metric and series.

    Columns: kind, metric, the knobs, seed, series, ``downloads`` and ``reference_downloads``, ``ks``, ``gap``
    (signed; above 0 when more of the series was complete by ``at_s``), and for each quantile its time in
    both, seconds, and the ratio of the two. Null: the quantile is not reached.
    """
    rows = []
    for (number, series, kind, metric), other in curves.items():
        if series not in _COMPARED_WITH:
            continue
        reference = curves.get((number, _COMPARED_WITH[series], kind, metric))
        if reference is None:
            continue
        match, apart = matches[number], distance(reference, other)
        quantiles = {
            f"{name}{suffix}": float(value)
            for suffix, of in (("_s", other), ("_reference_s", reference))
            for name, value in zip(PROBABILITIES, of.quantiles_s, strict=True)
        }
        rows.append(
            {
                "kind": kind,
                "metric": metric,
                **match.variant,
                "seed": match.seed,
                "series": series,
                "downloads": other.count,
                "reference_downloads": reference.count,
                "ks": apart.ks,
                "gap": apart.gap,
                "at_s": apart.at_s,
                **quantiles,
                **{f"{name}_ratio": ratio for name, ratio in apart.ratios.items()},
            }
        )
    order = {"series": SERIES, "kind": KINDS, "metric": tuple(SHOWN_METRICS)}
    return (
        pl.DataFrame(rows, infer_schema_length=None)
        .with_columns(pl.col(pl.Float64).fill_nan(None))
        .with_columns(level_order(order))
        .sort("kind", "metric", "series", maintain_order=True)
    )


def cells(found: pl.DataFrame, knobs: Sequence[str]) -> pl.DataFrame:
    """A row for each variant, kind and metric: means over networks of what :func:`distances` found.

    Columns: kind, metric, the knobs, ``networks``, ``ks``, ``floor`` and ``floor_networks`` (0: of other
    variants), ``replay_ks``, ``model_floor`` (model against its repeat), ``verdict``, the mean ratio of each
    quantile, and ``downloads`` and ``reference_downloads`` of all networks.
    """
    by = ["kind", "metric", *knobs]
    ratios, counts = [f"{name}_ratio" for name in PROBABILITIES], ["downloads", "reference_downloads"]
    of_model = (
        found.filter(pl.col("series") == MODEL)
        .group_by(by, maintain_order=True)
        .agg(
            pl.col("ks").count().alias("networks"),
            pl.col("ks").mean(),
            # A quantile that one network does not reach has no mean.
            *(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()) for name in ratios),
            pl.col(counts).sum(),
        )
    )
    own = _means(found, REFERENCE_REPEAT, by, "floor", "floor_networks")
    shared = _means(found, REFERENCE_REPEAT, ["kind", "metric"], "_shared", "_shared_networks")
    frame = of_model.join(own, on=by, how="left", maintain_order="left")
    frame = frame.join(shared, on=["kind", "metric"], how="left", maintain_order="left")
    for series, name in ((REPLAY, "replay_ks"), (MODEL_REPEAT, "model_floor")):
        means = _means(found, series, by, name, f"_{name}_networks")
        frame = frame.join(means, on=by, how="left", maintain_order="left")
    beyond = pl.col("ks") > pl.col("floor") + MARGIN
    verdict = pl.when(pl.col("floor").is_null() | pl.col("ks").is_null()).then(pl.lit(UNKNOWN))
    return (
        frame.with_columns(
            pl.coalesce("floor", "_shared").alias("floor"), pl.col("floor_networks").fill_null(0)
        )
        .with_columns(verdict.when(beyond).then(pl.lit(BEYOND)).otherwise(pl.lit(WITHIN)).alias("verdict"))
        .select(
            *by,
            "networks",
            "ks",
            "floor",
            "floor_networks",
            "replay_ks",
            "model_floor",
            "verdict",
            *ratios,
            *counts,
        )
    )


def _means(found: pl.DataFrame, series: str, by: Sequence[str], name: str, count: str) -> pl.DataFrame:
    """The mean ``ks`` of a series and the number of networks that it is over."""
    return (
        found.filter(pl.col("series") == series)
        .group_by(by)
        .agg(pl.col("ks").mean().alias(name), pl.col("ks").count().alias(count))
    )
