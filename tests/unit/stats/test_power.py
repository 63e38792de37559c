"""The changes that so many networks can be expected to show, against simulated comparisons."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from torsweep.config.network import load_network_config
from torsweep.stats.inference.intervals import bands, bonferroni
from torsweep.stats.inference.moderation import EFFECT_VARIES
from torsweep.stats.inference.planning import (
    POWER,
    Spread,
    basis,
    equivalence_power,
    power,
    read_spreads,
    shown_by,
    shown_text,
    size_text,
    smallest_shown,
    spread_of,
    spreads_of,
)

HEADER = ",".join(Spread.__dataclass_fields__)
ROWS = """\
quarter,cellsim,today,free,web,paired_ttfb,60,16,0.3
quarter,cellsim,today,free,web,paired_ttfb,120,16,0.2
quarter,cellsim,today,paths,web,paired_ttfb,120,16,0.1
quarter,emulation,today,free,web,paired_ttfb,120,8,0.4
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with a file of spreads of its own."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/spread.csv").write_text(f"{HEADER}\n{ROWS}")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("known", [None, 7])
@pytest.mark.parametrize(("networks", "measures"), [(5, 2), (8, 1), (8, 2), (24, 4)])
def test_a_change_of_that_size_is_shown_in_four_comparisons_of_five(networks, measures, known):
    """Although it is larger in some networks than in others, and the spread was measured in eight."""
    confidence = bonferroni(0.95, measures)
    change = smallest_shown(0.4, networks, confidence, known)
    generator = np.random.default_rng(11)
    spread = 0.4 if known is None else 0.4 / np.sqrt(generator.chisquare(known, 40_000) / known)
    effect = change * (1 + EFFECT_VARIES * generator.normal(size=(networks, 40_000)))
    values = effect + spread * generator.normal(size=(networks, 40_000))
    _, low, high = bands(values, confidence)
    assert np.mean((low > 0) | (high < 0)) == pytest.approx(POWER, abs=0.01)


@pytest.mark.parametrize("networks", [4, 8, 24])
def test_a_margin_of_that_size_is_kept_in_four_comparisons_of_five(networks):
    margin = smallest_shown(0.4, networks, 0.9, chance=equivalence_power)
    values = 0.4 * np.random.default_rng(12).normal(size=(networks, 40_000))
    _, low, high = bands(values, 0.9)
    assert np.mean((low > -margin) & (high < margin)) == pytest.approx(POWER, abs=0.01)


def test_power_without_a_change_is_the_error():
    assert power(7, 0.0, 2.3646) == pytest.approx(0.05, abs=1e-4)


def test_more_networks_show_smaller_changes_and_more_measures_larger_ones():
    sizes = [smallest_shown(0.4, networks, 0.95) for networks in (4, 8, 16, 64)]
    assert sizes == sorted(sizes, reverse=True)
    assert smallest_shown(0.4, 8, 0.975) > sizes[1]
    assert smallest_shown(0.4, 8, 0.95, known=7) > sizes[1]
    # Of many networks: (1.960 + 0.842) standard errors.
    assert smallest_shown(0.4, 6_400, 0.95) == pytest.approx(2.8016 * 0.4 / 80, rel=2e-3)


def test_one_network_or_three_that_differ_as_much_as_changes_do_promise_nothing():
    assert smallest_shown(0.4, 3, 0.99) == float("inf")
    assert shown_by(0.4, {1: 0.95, 3: 0.99, 8: 0.99}).keys() == {8}


def test_sizes_are_told_in_percent():
    text = shown_text({8: size_text(0.2), 16: size_text(0.034), 32: size_text(1.2)})
    first = "a change of 20 % would be shown by 8 networks with a chance of 80 %"
    assert text == f"{first}, 3.4 % by 16, over 100 % by 32"
    assert shown_text({}) == ""


def test_the_rows_of_the_engine_come_before_those_of_the_model(study):
    def nearest(engine, pairing="free", measured_s=120):
        of = ("quarter", engine, "web", "paired_ttfb")
        return spread_of(spreads_of(read_spreads(), *of, era="today", pairing=pairing), measured_s)

    own, model = nearest("emulation"), nearest("shadow")
    given, free = nearest("shadow", "paths"), nearest("emulation", "paths")
    assert [row.log_ratio_sd for row in (own, model, given, free)] == [0.4, 0.2, 0.1, 0.4]
    assert nearest("shadow", measured_s=70).log_ratio_sd == 0.3
    alike = "from A/A runs on 8 networks of quarter in emulation"
    assert basis(own, "emulation") == alike
    assert basis(free, "emulation", "paths").startswith(f"{alike}, on free paths")
    assert basis(model, "shadow").endswith("in cellsim; none were measured in shadow")


def test_where_nothing_is_known_there_is_no_row(study):
    assert not spreads_of(read_spreads(), "quarter", "shadow", "web", "paired_ttfb", era="2012")
    none = spreads_of(read_spreads(), "my.yaml", "shadow", "web", "paired_ttfb", era="today")
    assert spread_of(none, 60) is None


def test_the_file_that_ships_has_the_model_on_the_network_of_comparisons():
    rows = read_spreads()
    assert len({row.key for row in rows}) == len(rows)
    load_network_config("small_live")
    for pairing, metric in product(("paths", "free"), ("paired_ttfb", "paired_ttlb")):
        found = spreads_of(rows, "small_live", "cellsim", "web", metric, era="today", pairing=pairing)
        assert {row.measured_s for row in found} >= {60, 120, 240}
        assert all(row.networks >= 8 and 0.003 < row.log_ratio_sd < 1 for row in found)
