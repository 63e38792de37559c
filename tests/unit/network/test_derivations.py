"""The derived tables: small, clean, and what the derivation makes of the measurements.

The measurements are not part of the project. Where TORSWEEP_MEASUREMENTS names a folder of them, one more
test repeats the derivation and compares what it gives with the tables that are committed.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from derive import DERIVATIONS
from king_latency import Residual, king_model, neighbour_means
from latency_statistics import detours

from torsweep.network.latency import check_model

TOPOLOGIES = Path(__file__).parents[3] / "topologies"
MEASUREMENTS = os.environ.get("TORSWEEP_MEASUREMENTS")
TABLES = sorted(path for path in TOPOLOGIES.glob("*/*") if path.suffix in (".json", ".npz"))


@pytest.mark.parametrize("path", [p for p in TABLES if p.suffix == ".json"], ids=lambda p: p.name)
def test_tables_hold_no_address_and_no_fingerprint(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\b\d{1,3}(\.\d{1,3}){3}\b", text)
    assert not re.search(r"\b[0-9A-F]{40}\b", text)


def test_a_pair_has_a_detour_when_a_third_host_makes_its_path_shorter() -> None:
    sides = {(0, 1): 100, (0, 2): 10, (1, 2): 80, (0, 3): 10, (1, 3): 60, (2, 3): 19}
    rtt_us = np.full((4, 4), np.nan)
    for (one, other), side in sides.items():
        rtt_us[one, other] = rtt_us[other, one] = side * 1000
    # Over host 3, 0–1 takes 70 instead of 100 and 1–2 takes 79 instead of 80.
    assert detours(rtt_us) == (2 / 6, 1 / 6)


def test_the_points_of_king_are_means_of_three_neighbours() -> None:
    corners = np.array([[0, 0], [900, 0], [0, 900], [5000, 5000]])
    near = np.array([[-1, 0], [1, 0], [0, 3]])
    hosts = (corners[:, None] + near[None]).reshape(-1, 2).astype(float)
    found = neighbour_means(hosts[np.random.default_rng(0).permutation(len(hosts))])
    assert sorted(map(tuple, found)) == sorted((float(x), float(y) + 1) for x, y in corners)


def test_the_residual_of_king_turns_long_and_short_deviations_apart() -> None:
    points = np.random.default_rng(0).normal(0, 50_000, (60, 2))
    shape = np.tile(np.linspace(-1, 1, 101), (16, 1))
    plain = king_model(points, shape, Residual(scale=1.5, power=0, above=0, below=0))
    assert (plain.ratio == 1.5).all()
    skewed = king_model(points, shape, Residual(scale=1, power=0, above=2, below=0.5))
    assert skewed.ratio[3, [0, 50, 100]] == pytest.approx([np.exp(-0.5), 1, np.exp(2)], rel=1e-4)
    check_model(skewed, Path("king.npz"))


if MEASUREMENTS:

    @pytest.mark.parametrize("kind", ["latency", "bandwidth", "relays"])
    def test_the_derivation_gives_the_committed_tables(kind: str, tmp_path: Path) -> None:
        errors = DERIVATIONS[kind][1](Path(MEASUREMENTS) / kind, tmp_path)
        recorded = json.loads((TOPOLOGIES / "errors.json").read_text())[kind]
        if kind == "latency":
            # The solver's last digits differ between processors.
            for name in ("planetlab", "atlas-2023"):
                for judged in ("held-out pairs", "held-out hosts"):
                    assert errors[name][judged] == pytest.approx(recorded[name][judged], rel=0.05)
            assert errors["king"]["generated"] == pytest.approx(recorded["king"]["generated"], rel=0.05)
            return
        assert errors == recorded
        for made in tmp_path.iterdir():
            assert made.read_bytes() == (TOPOLOGIES / kind / made.name).read_bytes()
