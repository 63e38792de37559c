"""Does the network still change after the warm-up: seen where one variant is too noisy to show it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from torsweep.runsets.plan_tables import PlanTables
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.incidence import ENTRY, STREAM_COLUMNS
from torsweep.stats.streams.steadiness import _sentences, drift_text, drifts
from torsweep.stats.verdicts import claims_file

AGE = (pl.col("start_us") - 30e6) / 120e6


@pytest.fixture(scope="module")
def streams(tables: PlanTables) -> pl.DataFrame:
    return tables.streams((*STREAM_COLUMNS, ENTRY))


def test_a_steady_network_is_steady_and_a_drifting_one_drifts(tables, streams):
    assert drift_text(drifts(streams, tables.provenance)["web, last byte"], 4) == ""
    slower = streams.with_columns((pl.col("last_byte_us") * (1 + AGE)).cast(pl.Int64))
    logs = drifts(slower, tables.provenance)["web, last byte"]
    assert drift_text(logs, 4)
    # From the middle of the first fifth to that of the last, 1.1 to 1.9.
    assert np.expm1(logs.mean()) == pytest.approx(1.9 / 1.1 - 1, abs=0.2)


def test_a_change_is_told_where_it_is_shown_and_large_enough():
    assert drift_text(np.log([1.2, 1.21, 1.19, 1.2]), 1).startswith("+20")
    assert drift_text(np.log([1.01, 1.011, 1.009]), 1) == ""


def test_verdicts_of_a_drifting_plan_are_provisional(summary):
    """In claims.json; of a steady plan they are not."""
    steady = summary.analysis
    for sentences in ((), ("bulk, first byte, all variants together: +20 %",)):
        plan = Analysis(**vars(steady) | {"known": {**steady.known, _sentences: sentences}})
        assert claims_file(plan).drift == sentences
