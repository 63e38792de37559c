"""RTTs of sampled hosts: symmetry, floors, triangles, independence of who else is there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torsweep.config.network import AccessDelay, LatencySource
from torsweep.network.latency import (
    KINDS,
    MODEL_FILE,
    CoordinateModel,
    LatencyField,
    MeasuredPairs,
    ModelledPairs,
    access_round_trips,
    read_model,
    write_model,
)
from torsweep.network.latency_matrix import triangle_violations
from torsweep.network.model import LATENCY_FLOOR_US
from torsweep.network.sampling import SampledNetwork, source_path

NO_ACCESS_DELAY = AccessDelay.model_validate({"median": "0 ms", "sigma": 0, "maximum": "0 ms"})


TOPOLOGIES = Path(__file__).parents[3] / "topologies"
ERRORS = json.loads((TOPOLOGIES / "errors.json").read_text())["latency"]
MEASURED_AS = {"planetlab": "slice 1", "atlas-2023": "19 June 2023", "king": "generated"}
"""The tables of latency, and the distribution of errors.json that their networks have."""


@pytest.fixture(scope="module", params=MEASURED_AS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(name: str) -> CoordinateModel:
    return read_model(source_path(LatencySource(name=name), "latency", MODEL_FILE))


def rtts(model: CoordinateModel, seed: int = 1, **counts: int) -> np.ndarray:
    every = dict.fromkeys(KINDS, 0) | counts
    field = LatencyField(ModelledPairs(model, every, seed), access_round_trips(every, NO_ACCESS_DELAY, seed))
    return np.concatenate(list(field.blocks()))


def test_a_network_has_symmetric_rtts_above_the_floor(sampled: SampledNetwork) -> None:
    matrix = np.concatenate(list(sampled.latency.blocks()))
    assert matrix.dtype == np.int32
    assert (matrix == matrix.T).all()
    assert matrix.min() >= LATENCY_FLOOR_US
    assert (np.diag(matrix) == LATENCY_FLOOR_US).all()


def test_generated_rtts_are_distributed_like_the_measured_ones(name: str, model: CoordinateModel) -> None:
    measured = next(value for key, value in ERRORS[name].items() if key.startswith("RTT ms"))
    matrix = rtts(model, relay=490)
    assert (matrix == matrix.T).all()
    values = matrix[np.triu_indices(490, 1)] / 1000
    found = np.quantile(values, [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
    assert found == pytest.approx(measured[MEASURED_AS[name]][1:-1], rel=0.2)


def test_triangle_violations_survive(model: CoordinateModel) -> None:
    matrix = rtts(model, relay=300).astype(float)
    np.fill_diagonal(matrix, np.nan)
    found = triangle_violations(matrix)
    assert 0.03 < found.of_inequalities < 0.11
    assert found.of_triangles == pytest.approx(3 * found.of_inequalities)


def test_king_has_what_was_published_of_it() -> None:
    king = ERRORS["king"]
    assert king["generated"] == pytest.approx(king["published"], rel=0.05)
    model = read_model(source_path(LatencySource(name="king"), "latency", MODEL_FILE))
    values = rtts(model, seed=5, relay=1740)[np.triu_indices(1740, 1)] / 1000
    assert float(values.mean()) == pytest.approx(king["published"]["mean ms"], rel=0.04)
    assert float(np.median(values)) == pytest.approx(king["published"]["median ms"], rel=0.04)


@pytest.mark.parametrize("measured", ["planetlab", "atlas-2023"])
def test_recorded_errors_are_those_of_the_held_out(measured: str) -> None:
    recorded = ERRORS[measured]
    assert recorded["held-out pairs"]["relative error p50"] < 0.1
    assert recorded["held-out hosts"]["relative error p50"] < 0.15


def test_sources_quote_the_recorded_errors() -> None:
    quoted = (TOPOLOGIES / "SOURCES.md").read_text()
    for measured in ("planetlab", "atlas-2023"):
        for held_out in ("held-out pairs", "held-out hosts"):
            for level in ("relative error p50", "relative error p90"):
                assert f"{100 * ERRORS[measured][held_out][level]:.1f} %" in quoted
    king = ERRORS["king"]
    for kind in ("published", "generated"):
        row = f"{king[kind]['mean ms']:.0f} | {king[kind]['median ms']:.0f} | "
        assert row in quoted
    for tables in (ERRORS[measured] for measured in MEASURED_AS):
        for shares in tables["triangle violations"].values():
            assert f"{100 * shares['of inequalities']:.1f} %" in quoted


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), more=st.integers(1, 60))
def test_who_else_is_there_changes_no_rtt(seed: int, more: int) -> None:
    model = tiny_model()
    few = {"relay": 4, "authority": 1, "web": 5, "bulk": 2, "server": 3}
    many = few | {"web": 5 + more}
    small, large = rtts(model, seed, **few), rtts(model, seed, **many)
    kept = [*range(10), *range(10 + more, 15 + more)]
    assert (large[np.ix_(kept, kept)] == small).all()


def tiny_model() -> CoordinateModel:
    return CoordinateModel(
        position_us=np.array([[0, 0], [30_000, 0], [0, 80_000]], dtype=np.int32),
        height_us=np.array([500, 1_000, 0], dtype=np.int32),
        place=np.array([0, 1, 0], dtype=np.int32),
        correction=np.array([[1.0, 1.1], [1.1, 0.9]]),
        bin_edge_us=np.array([40_000], dtype=np.int32),
        ratio=np.array([[0.5, 1.0, 2.0], [0.9, 1.0, 1.1]]),
        jitter_us=np.array([100, 100], dtype=np.int32),
    )


def test_blocks_of_any_size_give_the_same_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rtts(tiny_model(), relay=40)
    monkeypatch.setattr("torsweep.network.latency.BLOCK_CELLS", 120)
    assert (rtts(tiny_model(), relay=40) == whole).all()


def test_a_tiny_model_gives_known_bits() -> None:
    matrix = rtts(tiny_model(), relay=30, web=30)
    digest = hashlib.sha256(matrix.astype("<i4").tobytes()).hexdigest()
    assert digest == "212647dc41992123c5b5d0af1be561ccc5ab366f423858d53db9004449ad88a8"


def test_access_delay_counts_both_ways_and_for_clients_only() -> None:
    counts = dict.fromkeys(KINDS, 2_001)
    delay = AccessDelay.model_validate({"median": "10 ms", "sigma": 0.5, "maximum": "25 ms"})
    added = access_round_trips(counts, delay, seed=1).reshape(len(KINDS), -1)
    by_kind = dict(zip(KINDS, added, strict=True))
    for kind in ("relay", "authority", "server"):
        assert not by_kind[kind].any()
    for kind in ("web", "bulk"):
        assert np.median(by_kind[kind]) == pytest.approx(20_000, rel=0.05)
        assert by_kind[kind].max() == 50_000


def test_a_model_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    for name in ("one.npz", "two.npz"):
        write_model(tiny_model(), tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    found = read_model(tmp_path / "one.npz")
    assert all((value == getattr(found, name)).all() for name, value in vars(tiny_model()).items())


def test_a_measured_matrix_gives_each_host_a_row_of_its_own() -> None:
    measured = np.arange(400, dtype=np.int32).reshape(20, 20)
    few = {"relay": 3, "authority": 1, "web": 4, "bulk": 2, "perf": 0, "server": 5}
    rows = MeasuredPairs(measured, few, seed=2).rows(0, 15)
    assert len(set(np.diag(rows))) == 15
    more = MeasuredPairs(measured, few | {"web": 6, "bulk": 3, "perf": 1}, seed=2).rows(0, 19)
    kept = [*range(8), 10, 11, *range(14, 19)]
    assert (more[np.ix_(kept, kept)] == rows).all()
