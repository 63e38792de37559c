"""What runs that differ by chance alone say of the next comparison: a file with a row for each measure."""

from __future__ import annotations

import functools
from math import exp, log
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bench.spread import main, variance
from tests.several_sources import FAST, SLOW, leave_run
from tests.synthetic import finish_run, record_tables
from torsweep.engines.run_spec import read_run
from torsweep.errors import InputError
from torsweep.stats.inference.planning import Spread, read_spreads

PATHS = {"web1": (("relay1", "relay2", "relay3"),)}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Runs in the model and their repeats, 10 % slower on two networks, 30 % on one, of another variant as
    well on the first, 20 % slower; and a run that was not repeated."""
    make = functools.partial(leave_run, tmp_path, "cellsim")
    for seed, slower in ((1, 1.1), (2, 1.1), (3, 1.3)):
        make(SLOW, seed)
        make(SLOW, seed, draws=seed, slower=slower)
    make(FAST, 1)
    make(FAST, 1, draws=1, slower=1.2)
    make(FAST, 2)
    return tmp_path


def spread_file(folder: Path) -> list[Spread]:
    out = folder / "spread.csv"
    main([str(folder / "results"), "--out", str(out)])
    return read_spreads(out)


def test_the_spread_is_that_of_the_logarithms_of_ratios_and_other_rows_are_kept(made):
    other = "quarter,emulation,today,free,web,ttfb,120,8,0.1"
    same = "networks,cellsim,2012,free,web,ttfb,60,2,9.0"
    header = ",".join(Spread.__dataclass_fields__)
    (made / "spread.csv").write_text(f"{header}\n{other}\n{same}\n")
    rows = spread_file(made)
    assert [row.key for row in rows] == sorted(row.key for row in rows)
    kept, web = (
        next(row for row in rows if (row.engine, row.kind, row.metric) == (engine, "web", "ttfb"))
        for engine in ("emulation", "cellsim")
    )
    assert kept.log_ratio_sd == 0.1
    first = (log(1.1) ** 2 + log(1.2) ** 2) / 2
    expected = np.sqrt((first + log(1.1) ** 2 + log(1.3) ** 2) / 3)
    assert web.log_ratio_sd == pytest.approx(expected, rel=1e-3)
    assert (web.era, web.pairing, web.networks, web.measured_s) == ("2012", "free", 3, 100)


def same_tor(directory: Path, seed: int) -> None:
    """Make the run in ``directory`` the other side of an A/A comparison: its seed, and a repeat."""
    other = {"seed": seed, "repeat": 1, "variant": {"tor": "same"}, "experiment": "aa"}
    read_run(directory).model_copy(update=other).write(directory)
    finish_run(directory, engine="emulation", engine_version="1.0")


def test_sides_of_an_aa_comparison_are_alike_and_given_paths_are_told(tmp_path):
    leave = functools.partial(leave_run, tmp_path, "emulation", SLOW, paths=PATHS)
    for seed in (1, 2):
        leave(seed)
        same_tor(leave(seed, draws=seed, slower=exp(0.2)), seed)
    row = next(row for row in spread_file(tmp_path) if (row.kind, row.metric) == ("web", "ttfb"))
    assert (row.engine, row.pairing, row.networks) == ("emulation", "paths", 2)
    # Downloads that were cut off are no longer in the slower run.
    assert row.log_ratio_sd == pytest.approx(0.2, rel=0.1)


def test_a_copy_of_a_run_is_not_another(tmp_path):
    for network in ("ci", "quarter"):
        leave_run(tmp_path, "cellsim", SLOW, 1, network=network)
    with pytest.raises(InputError, match="no two of these runs are alike but for chance"):
        spread_file(tmp_path)


def test_a_median_that_a_run_lacks_leaves_no_row(made):
    """On the third network the repeat lasts too long for a bulk download to be complete."""
    directory = next(made.glob("results/repeats/**/3/*/streams.parquet")).parent
    late = (pl.col("kind") == "bulk") & pl.col("last_byte_us").is_not_null()
    streams = pl.read_parquet(directory / "streams.parquet").with_columns(
        pl.when(late).then(pl.lit("unfinished")).otherwise(pl.col("outcome")).alias("outcome"),
        pl.when(late).then(None).otherwise(pl.col("last_byte_us")).alias("last_byte_us"),
    )
    whole = {(row.kind, row.metric) for row in spread_file(made)}
    (made / "spread.csv").unlink()
    streams.write_parquet(directory / "streams.parquet")
    record_tables(directory)
    assert whole - {(row.kind, row.metric) for row in spread_file(made)} == {("bulk", "ttlb")}


def test_three_runs_that_are_alike_tell_the_same_variance():
    generator = np.random.default_rng(1)
    seen = [variance(np.exp(0.1 * generator.normal(size=3))) for _ in range(20_000)]
    assert np.sqrt(np.mean(seen)) == pytest.approx(0.1 * np.sqrt(2), rel=0.02)


def test_runs_without_a_repeat_say_nothing(tmp_path):
    leave_run(tmp_path, "cellsim", SLOW, 1)
    leave_run(tmp_path, "cellsim", FAST, 1)
    with pytest.raises(InputError, match="no two of these runs are alike but for chance"):
        spread_file(tmp_path)


def test_runs_of_two_durations_are_not_mixed(tmp_path):
    for seed, warm_up_s in ((1, 20), (2, 30)):
        for draws in (None, seed + 9):
            leave_run(tmp_path, "cellsim", SLOW, seed, draws=draws, warm_up_ns=warm_up_s * 10**9)
    with pytest.raises(InputError, match="were measured for 90 s and 100 s; accepted: one time"):
        spread_file(tmp_path)


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "spread.csv").write_text("network,engine\nci,cellsim\n")
    with pytest.raises(InputError, match=r"spread\.csv: has other columns; accepted: network, engine, era"):
        read_spreads(tmp_path / "spread.csv")
    row = "quarter,emulation,today,free,web,ttfb,120,8,"
    for cell, said in (("", "has an empty cell"), ("much", "cannot be read: ")):
        (tmp_path / "spread.csv").write_text(f"{','.join(Spread.__dataclass_fields__)}\n{row}{cell}\n")
        with pytest.raises(InputError, match=rf"spread\.csv: {said}"):
            read_spreads(tmp_path / "spread.csv")
    with pytest.raises(InputError, match=r"none\.csv: cannot be read"):
        read_spreads(tmp_path / "none.csv")
