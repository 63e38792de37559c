"""Does the network still change after the warm-up: seen where one variant is too noisy to show it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.queues import QUEUE_COLUMNS
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.incidence import ENTRY, STREAM_COLUMNS
from torsweep.stats.streams.steadiness import TOGETHER, Drift, _sentences, drifts
from torsweep.stats.verdicts import claims_file

BASELINE = {"refill_interval": "100ms", "circuit_policy": "ewma"}
AGE = (pl.col("start_us") - 30e6) / 120e6


def _drifts(
    tables: PlanTables, streams: pl.DataFrame, relays: pl.DataFrame | None = None
) -> dict[tuple[str, str], Drift]:
    relays = tables.relays(QUEUE_COLUMNS) if relays is None else relays
    return {(one.what, one.where): one for one in drifts(streams, relays, tables.provenance, BASELINE)}


def _shown(found: dict[tuple[str, str], Drift], what: str) -> set[str]:
    return {where for (of, where), one in found.items() if of == what and one.sentence(10) is not None}


@pytest.fixture(scope="module")
def streams(tables: PlanTables) -> pl.DataFrame:
    return tables.streams((*STREAM_COLUMNS, ENTRY))


def test_a_steady_network_is_steady_and_a_drifting_one_drifts(tables, streams):
    assert _shown(_drifts(tables, streams), "web, last byte") == set()
    slower = streams.with_columns((pl.col("last_byte_us") * (1 + AGE)).cast(pl.Int64))
    found = _drifts(tables, slower)
    # All variants drift alike.
    assert _shown(found, "web, last byte") == {TOGETHER}
    # From the middle of the first fifth to that of the last, 1.1 to 1.9.
    together = np.expm1(found["web, last byte", TOGETHER].logs.mean())
    assert together == pytest.approx(1.9 / 1.1 - 1, abs=0.2)


def test_an_effect_that_depends_on_the_time_is_seen(tables, streams):
    of_one = pl.col("refill_interval") == "10ms"
    factor = pl.when(of_one).then(1 + AGE).otherwise(1.0)
    found = _drifts(tables, streams.with_columns((pl.col("last_byte_us") * factor).cast(pl.Int64)))
    against = {where for where in _shown(found, "web, last byte") if where != TOGETHER}
    assert len(against) == 2 and all("10ms" in where for where in against)


def test_queues_that_grow_are_seen(tables, streams):
    """Twice as long at the end of the measured time as at its start, but for the noise."""
    relays = tables.relays(QUEUE_COLUMNS)
    growing = relays.with_columns(
        queued_cells_max=(1000 * (1 + (pl.col("second") - 30) / 120)).cast(pl.Int64)
    )
    what = "relays, longest queues, ninth decile"
    # The middles of the first and the last fifth are 12 and 108 s after the warm-up.
    logs = _drifts(tables, streams, growing)[what, TOGETHER].logs
    assert np.expm1(logs.mean()) == pytest.approx(1.9 / 1.1 - 1, abs=0.02)
    flat = relays.with_columns(queued_cells_max=pl.lit(70))
    assert _shown(_drifts(tables, streams, flat), what) == set()


def test_a_sentence_has_the_change_and_its_interval():
    words = Drift("bulk, first byte", TOGETHER, np.log([1.2, 1.21, 1.19, 1.2])).sentence(1)
    assert words is not None and words.startswith("bulk, first byte, all variants together: +20")
    assert Drift("bulk, first byte", TOGETHER, np.log([1.01, 1.011, 1.009])).sentence(1) is None


def test_verdicts_of_a_drifting_plan_are_provisional(summary):
    """In claims.json; of a steady plan they are not."""
    steady = summary.analysis
    for sentences in ((), ("bulk, first byte, all variants together: +20 %",)):
        plan = Analysis(**vars(steady) | {"known": {**steady.known, _sentences: sentences}})
        assert claims_file(plan).drift == sentences
