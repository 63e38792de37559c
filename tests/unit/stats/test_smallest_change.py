"""The smallest change that so many networks can be expected to show, against simulated comparisons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from torsweep.config.network import load_network_config
from torsweep.stats.inference import planning as module
from torsweep.stats.inference.intervals import bands, bonferroni
from torsweep.stats.inference.planning import Spread, basis, power, read_spreads, smallest_change, spread_of

HEADER = ",".join(Spread.__dataclass_fields__)
ROWS = """\
quarter,cellsim,today,free,web,ttfb,120,16,0.2
quarter,cellsim,today,paths,web,ttfb,120,16,0.1
quarter,emulation,today,free,web,ttfb,120,8,0.4
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with a file of spreads of its own."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/spread.csv").write_text(f"{HEADER}\n{ROWS}")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("networks", "measures"), [(2, 1), (3, 2), (8, 1), (8, 2), (24, 4)])
def test_a_change_of_that_size_is_shown_in_four_comparisons_of_five(study, networks, measures):
    change = smallest_change("quarter", "emulation", "web", "ttfb", networks, measures=measures)
    assert change is not None
    generator = np.random.default_rng(11)
    values = np.log1p(change) + 0.4 * generator.normal(size=(networks, 40_000))
    _, low, high = bands(values, bonferroni(0.95, measures))
    assert np.mean((low > 0) | (high < 0)) == pytest.approx(module.POWER, abs=0.01)


def test_power_without_a_change_is_the_error():
    assert power(7, 0.0, 2.3646) == pytest.approx(0.05, abs=1e-4)


def test_more_networks_show_smaller_changes_and_more_measures_larger_ones(study):
    def size(networks: int, measures: int = 1) -> float:
        return smallest_change("quarter", "emulation", "web", "ttfb", networks, measures=measures) or 0.0

    sizes = [size(networks) for networks in (2, 4, 8, 16, 64)]
    assert sizes == sorted(sizes, reverse=True)
    assert size(8, 2) > size(8)
    # Of many networks: (1.960 + 0.842) standard errors.
    assert size(6_400) == pytest.approx(np.expm1(2.8016 * 0.4 / 80), rel=1e-3)


def test_the_row_of_the_engine_comes_before_that_of_the_model(study):
    own = spread_of("quarter", "emulation", "web", "ttfb", era="today")
    model = spread_of("quarter", "shadow", "web", "ttfb", era="today")
    given = spread_of("quarter", "shadow", "web", "ttfb", era="today", pairing="paths")
    free = spread_of("quarter", "emulation", "web", "ttfb", era="today", pairing="paths")
    assert own and model and given and free
    assert [row.log_ratio_sd for row in (own, model, given, free)] == [0.4, 0.2, 0.1, 0.4]
    alike = "from pairs of runs on 8 networks of quarter that differ by chance alone, in emulation"
    assert basis(own, "emulation") == alike
    assert basis(free, "emulation", "paths").startswith(f"{alike}, each on paths of its own")
    assert basis(model, "shadow").endswith("in cellsim, as shadow has none yet")


def test_where_nothing_is_known_there_is_no_size(study):
    assert smallest_change("quarter", "shadow", "web", "ttfb", 1) is None
    assert smallest_change("quarter", "shadow", "web", "ttfb", 8, era="2012") is None
    assert smallest_change("quarter", "shadow", "bulk", "ttfb", 8) is None
    assert smallest_change("my.yaml", "shadow", "web", "ttfb", 8) is None


def test_the_file_that_ships_has_the_model_on_every_network_of_a_sweep():
    rows = read_spreads()
    assert len({row.key for row in rows}) == len(rows)
    for network in ("ci", "quarter", "laptop", "paper"):
        load_network_config(network)
        for era in ("today", "2012"):
            for metric in ("ttfb", "ttlb"):
                row = spread_of(network, "cellsim", "web", metric, era=era)
                assert row is not None
                assert row.networks >= 8
                assert 0.01 < row.log_ratio_sd < 1
