"""Does the network still change after the warm-up: seen where one variant is too noisy to show it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.queues import QUEUE_COLUMNS
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.incidence import ENTRY, STREAM_COLUMNS
from torsweep.stats.streams.steadiness import (
    AGAINST_BASELINE,
    ALL_VARIANTS,
    DRIFTING,
    VARIANT,
    drift_sentences,
    stationarity,
    stationarity_of_plan,
)
from torsweep.stats.verdicts import claims_file

BASELINE = {"refill_interval": "100ms", "circuit_policy": "ewma"}
AGE = (pl.col("start_us") - 30e6) / 120e6


def _rows(tables: PlanTables, streams: pl.DataFrame, relays: pl.DataFrame | None = None) -> pl.DataFrame:
    relays = tables.relays(QUEUE_COLUMNS) if relays is None else relays
    return pl.DataFrame(stationarity(streams, relays, tables.provenance, BASELINE), infer_schema_length=None)


@pytest.fixture(scope="module")
def streams(tables: PlanTables) -> pl.DataFrame:
    return tables.streams((*STREAM_COLUMNS, ENTRY))


def test_a_steady_network_is_steady_and_a_drifting_one_drifts(tables, streams):
    of_web = pl.col("kind") == "web", pl.col("metric") == "ttlb"
    assert DRIFTING not in _rows(tables, streams).filter(*of_web)["verdict"]
    slower = streams.with_columns((pl.col("last_byte_us") * (1 + AGE)).cast(pl.Int64))
    web = _rows(tables, slower).filter(*of_web)
    assert set(web.filter(scope=VARIANT)["verdict"]) == {DRIFTING}
    # From the middle of the first fifth to that of the last, 1.1 to 1.9.
    assert web.filter(scope=VARIANT)["drift"].mean() == pytest.approx(1.9 / 1.1 - 1, abs=0.2)
    # All variants drift alike.
    assert DRIFTING not in web.filter(scope=AGAINST_BASELINE)["verdict"]


def test_what_variants_have_in_common_is_their_mean(tables, streams):
    """Of logarithms."""
    found = _rows(tables, streams.with_columns((pl.col("last_byte_us") * (1 + 0.25 * AGE)).cast(pl.Int64)))
    web = found.filter(kind="web", metric="ttlb")
    (together,) = web.filter(scope=ALL_VARIANTS).iter_rows(named=True)
    assert together["verdict"] == DRIFTING
    logs = np.log1p(web.filter(scope=VARIANT)["drift"].to_numpy())
    assert np.log1p(together["drift"]) == pytest.approx(logs.mean())


def test_an_effect_that_depends_on_the_time_is_seen(tables, streams):
    of_one = pl.col("refill_interval") == "10ms"
    factor = pl.when(of_one).then(1 + AGE).otherwise(1.0)
    found = _rows(tables, streams.with_columns((pl.col("last_byte_us") * factor).cast(pl.Int64)))
    against = found.filter(kind="web", metric="ttlb", scope=AGAINST_BASELINE)
    assert set(against.filter(of_one)["verdict"]) == {DRIFTING}
    assert DRIFTING not in against.filter(~of_one)["verdict"]


def test_queues_that_grow_are_seen(tables, streams):
    """Twice as long at the end of the measured time as at its start, but for the noise."""
    relays = tables.relays(QUEUE_COLUMNS)
    growing = relays.with_columns(
        queued_cells_max=(1000 * (1 + (pl.col("second") - 30) / 120)).cast(pl.Int64)
    )
    queues = _rows(tables, streams, growing).filter(metric="queue", scope=ALL_VARIANTS)
    # The middles of the first and the last fifth are 12 and 108 s after the warm-up.
    assert queues["drift"].item() == pytest.approx(1.9 / 1.1 - 1, abs=0.02)
    flat = _rows(tables, streams, relays.with_columns(queued_cells_max=pl.lit(70))).filter(metric="queue")
    assert DRIFTING not in flat["verdict"]


def test_verdicts_of_a_drifting_plan_are_provisional(summary):
    """In claims.json and in the summary's words; of a steady plan they are not."""
    steady = summary.analysis
    rows = [dict(row) for row in steady.once(stationarity_of_plan)]
    calm = Analysis(**vars(steady) | {"known": dict(steady.known)})
    calm.known[stationarity_of_plan] = [row | {"verdict": "unclear"} for row in rows]
    assert (drift_sentences(calm), claims_file(calm).drift) == ((), ())
    bulk = [row["kind"] == "bulk" and row["scope"] == ALL_VARIANTS for row in rows]
    assert any(bulk)
    calm.known[stationarity_of_plan] = [
        row | {"verdict": DRIFTING if drifts else "unclear"} for row, drifts in zip(rows, bulk, strict=True)
    ]
    sentences = claims_file(calm).drift
    assert len(sentences) == sum(bulk)
    assert sentences[0].startswith("bulk, first byte, all variants together: ")
