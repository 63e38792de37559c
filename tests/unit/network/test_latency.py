"""Places and the round trips between them: symmetry, floors, triangles, independence of who else is there."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latency_statistics import triangle_violations

from torsweep.config.network import AccessDelay, LatencySource
from torsweep.errors import InputError
from torsweep.network.latency import (
    MODEL_FILE,
    CoordinateModel,
    Whereabouts,
    access_round_trips,
    host_places,
    modelled_matrix,
    places_of,
    read_model,
    with_diagonal,
    write_model,
)
from torsweep.network.model import LATENCY_FLOOR_US, Latencies
from torsweep.network.sampling import LATENCY_TABLES, sample_network, source_path
from torsweep.units import MOST_RTT_US

NO_ACCESS_DELAY = AccessDelay.model_validate({"median": "0 ms", "sigma": 0, "maximum": "0 ms"})


TOPOLOGIES = Path(__file__).parents[3] / "topologies"
_DERIVED = json.loads((TOPOLOGIES / "errors.json").read_text())
ERRORS = {**_DERIVED["latency"], "wonderproxy-2020": _DERIVED["countries"]}
MEASURED_AS = {
    "planetlab": "slice 1",
    "atlas-2023": "19 June 2023",
    "king": "generated",
    "wonderproxy-2020": "19 July 2020",
}
"""The tables of latency, and the distribution of errors.json that their networks have."""


@pytest.fixture(scope="module", params=MEASURED_AS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(name: str) -> CoordinateModel:
    return read_model(source_path(LatencySource(name=name), LATENCY_TABLES, MODEL_FILE))[0]


def _all_pairs(latencies: Latencies) -> np.ndarray:
    every = np.arange(len(latencies.place))
    return latencies.between(every[:, None], every)


def rtts(model: CoordinateModel, seed: int = 1, **counts: int) -> np.ndarray:
    """RTTs between hosts without a last mile, each kind after the other."""
    matrix_us = modelled_matrix(model, seed)
    where = places_of(len(matrix_us), NO_ACCESS_DELAY, seed)
    place = [host["place"] for kind, count in counts.items() for host in where(kind, count)]
    none = np.zeros(len(place), dtype=np.int64)
    return _all_pairs(Latencies(matrix_us, np.array(place), none, LATENCY_FLOOR_US))


def test_a_round_trip_is_that_of_the_places_and_of_both_access_links():
    matrix_us = np.array(
        [[7_000, 900, 50_000], [900, 3_000, 59_999_000], [50_000, 59_999_000, 4_000]], np.int32
    )
    latencies = Latencies(matrix_us, np.array([0, 0, 1, 2]), np.array([0, 20, 500, 800]), floor_us=2_000)
    expected = [
        [2_000, 7_020, 2_000, 50_800],
        [7_020, 2_000, 2_000, 50_820],
        [2_000, 2_000, 2_000, MOST_RTT_US],
        [50_800, 50_820, MOST_RTT_US, 2_000],
    ]
    assert _all_pairs(latencies).tolist() == expected
    assert int(latencies.between(0, 3)) == 50_800
    assert latencies.between(np.array([0, 1]), np.array([1, 3])).tolist() == [7_020, 50_820]


def test_a_place_is_as_far_from_itself_as_from_the_nearest():
    made = with_diagonal(np.array([[0, 9_000, 700], [9_000, 0, 8_000], [700, 8_000, 0]], np.int32))
    assert made.tolist() == [[2_000, 9_000, 700], [9_000, 8_000, 8_000], [700, 8_000, 2_000]]


def test_generated_rtts_are_distributed_like_the_measured_ones(name, model):
    measured = next(value for key, value in ERRORS[name].items() if key.startswith("RTT ms"))
    values = rtts(model, relay=490)[np.triu_indices(490, 1)] / 1000
    found = np.quantile(values, [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
    assert found == pytest.approx(measured[MEASURED_AS[name]][1:-1], rel=0.2)


def test_triangle_violations_survive(model):
    matrix = rtts(model, relay=300).astype(float)
    np.fill_diagonal(matrix, np.nan)
    found = triangle_violations(matrix)
    assert 0.03 < found.of_inequalities < 0.11
    assert found.of_triangles == pytest.approx(3 * found.of_inequalities)


def test_king_has_what_was_published_of_it():
    king = ERRORS["king"]
    assert king["generated"] == pytest.approx(king["published"], rel=0.05)
    model, _ = read_model(source_path(LatencySource(name="king"), LATENCY_TABLES, MODEL_FILE))
    values = rtts(model, seed=5, relay=1740)[np.triu_indices(1740, 1)] / 1000
    assert float(values.mean()) == pytest.approx(king["published"]["mean ms"], rel=0.04)
    assert float(np.median(values)) == pytest.approx(king["published"]["median ms"], rel=0.04)


def test_sources_quote_the_recorded_errors():
    quoted = " ".join((TOPOLOGIES / "SOURCES.md").read_text().split())
    for measured in ("planetlab", "atlas-2023", "wonderproxy-2020"):
        errors = ERRORS[measured]["held-out hosts"]
        p50, p90 = (f"{100 * errors[f'relative error {level}']:.1f} %" for level in ("p50", "p90"))
        assert f"| {p50}, {p90} |" in quoted
    for king in (ERRORS["king"][kind] for kind in ("published", "generated")):
        assert f"mean {king['mean ms']:.0f} ms and median {king['median ms']:.0f} ms" in quoted


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), more=st.integers(1, 60))
def test_who_else_is_there_changes_no_rtt(seed, more):
    model = tiny_model()
    few = {"relay": 4, "authority": 1, "web": 5, "bulk": 2, "server": 3}
    many = few | {"web": 5 + more}
    small, large = rtts(model, seed, **few), rtts(model, seed, **many)
    assert (modelled_matrix(model, seed) == modelled_matrix(model, seed).T).all()
    kept = [*range(10), *range(10 + more, 15 + more)]
    assert (large[np.ix_(kept, kept)] == small).all()


def tiny_model() -> CoordinateModel:
    return CoordinateModel(
        position_us=np.array([[0, 0], [30_000, 0], [0, 80_000]], dtype=np.int32),
        height_us=np.array([500, 1_000, 0], dtype=np.int32),
        region=np.array([0, 1, 0], dtype=np.int32),
        correction=np.array([[1.0, 1.1], [1.1, 0.9]]),
        bin_edge_us=np.array([40_000], dtype=np.int32),
        ratio=np.array([[0.5, 1.0, 2.0], [0.9, 1.0, 1.1]]),
    )


def test_blocks_of_any_size_give_the_same_matrix(model, monkeypatch):
    whole = modelled_matrix(model, seed=1)
    monkeypatch.setattr("torsweep.network.latency.BLOCK_CELLS", 7_000)
    assert (modelled_matrix(model, seed=1) == whole).all()


def test_a_tiny_model_gives_known_bits():
    matrix = rtts(tiny_model(), relay=30, web=30)
    digest = hashlib.sha256(matrix.astype("<i4").tobytes()).hexdigest()
    assert digest == "fde1a9b07e2618f65d21afcdccacec11e4c879684267e2669c4c64c1afa07a7b"


def test_hosts_are_at_all_places_alike():
    found = np.bincount(host_places("web", 60_000, 6, seed=3), minlength=6)
    assert found.sum() == 60_000
    assert found == pytest.approx(10_000, rel=0.05)


@pytest.fixture(scope="module")
def where() -> Whereabouts:
    """Where the places of the table with countries are."""
    _, where = read_model(TOPOLOGIES / "latency/wonderproxy-2020.npz")
    assert where is not None
    return where


def test_hosts_are_where_users_and_relays_are(where):
    for kind, of_places in (("web", where.client_share), ("server", where.relay_share)):
        found = np.bincount(host_places(kind, 60_000, 246, 3, where.share(kind)), minlength=246) / 60_000
        assert found == pytest.approx(of_places, abs=0.005)
        assert not found[of_places == 0].any()


def test_authorities_share_the_place_whose_farthest_relay_is_nearest(configured):
    sampled = sample_network(configured(authorities=3), seed=1)
    relays = [relay.place for relay in sampled.network.relays]
    (place,) = {authority.place for authority in sampled.network.authorities}
    farthest_us = sampled.matrix_us[:, relays].max(axis=1)
    assert farthest_us[place] == farthest_us.min() < np.median(farthest_us)


def test_hosts_of_a_network_have_the_countries_of_their_places(configured, where):
    hosts = sample_network(configured(latency="wonderproxy-2020"), seed=1).network.hosts
    for host in hosts:
        assert {"country": host.country, "continent": host.continent} == where.named(host.place)
    assert len({host.continent for host in hosts}) > 2


def test_access_delay_counts_both_ways_and_for_clients_only():
    delay = AccessDelay.model_validate({"median": "10 ms", "sigma": 0.5, "maximum": "25 ms"})
    for kind in ("relay", "authority", "perf", "server"):
        assert not access_round_trips(kind, 2_001, delay, seed=1).any()
    for kind in ("web", "bulk"):
        added = access_round_trips(kind, 2_001, delay, seed=1)
        assert np.median(added) == pytest.approx(20_000, rel=0.05)
        assert added.max() == 50_000


def test_a_model_file_is_read_as_it_was_written_unless_it_would_differ_by_direction(tmp_path):
    for name in ("one.npz", "two.npz"):
        write_model(tiny_model(), tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    found, _ = read_model(tmp_path / "one.npz")
    assert all((value == getattr(found, name)).all() for name, value in vars(tiny_model()).items())
    model = tiny_model()
    model.correction[0, 1] = 1.2
    write_model(model, tmp_path / "one.npz")
    with pytest.raises(InputError, match="correction: is not symmetric"):
        read_model(tmp_path / "one.npz")
