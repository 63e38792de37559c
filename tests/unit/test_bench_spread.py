"""What runs that differ by chance alone say of the next comparison: a file with a row for each measure."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bench.model_pairs import main as model_pairs
from bench.spread import ended_at, main
from tests.several_sources import FAST, SLOW, leave_run
from tests.synthetic import finish_run
from torsweep.engines.run_spec import read_run
from torsweep.errors import InputError
from torsweep.stats.inference.planning import Spread, read_spreads

PATHS = {"web1": (("relay1", "relay2", "relay3"),)}


def leave_pair(folder: Path, variant: dict[str, str], seed: int, slower: float, **changes: object) -> None:
    """A run in an emulation, and the other side of an A/A comparison with the same downloads."""
    leave_run(folder, "emulation", variant, seed, **changes)
    directory = leave_run(folder / "aa", "emulation", variant, seed, slower=slower, **changes)
    other = {"repeat": 1, "variant": {"tor": "same"}, "experiment": "aa"}
    read_run(directory).model_copy(update=other).write(directory)
    finish_run(directory, engine="emulation", engine_version="1.0")


def spread_file(folder: Path) -> list[Spread]:
    out = folder / "spread.csv"
    main([str(folder), "--out", str(out)])
    return read_spreads(out)


def test_the_spread_is_that_of_the_same_downloads_and_other_rows_are_kept(tmp_path):
    """10 % slower on two networks, 30 % on one, another variant 20 % slower on the first."""
    for seed, slower in ((1, 1.1), (2, 1.1), (3, 1.3)):
        leave_pair(tmp_path, SLOW, seed, slower, paths=PATHS)
    leave_pair(tmp_path, FAST, 1, 1.2, paths=PATHS)
    other = "quarter,shadow,today,free,web,paired_ttfb,120,8,0.1"
    same = "networks,emulation,2012,paths,web,paired_ttfb,100,2,9.0"
    header = ",".join(Spread.__dataclass_fields__)
    (tmp_path / "spread.csv").write_text(f"{header}\n{other}\n{same}\n")
    rows = spread_file(tmp_path)
    assert [row.key for row in rows] == sorted(row.key for row in rows)
    by_time = {row.measured_s: row for row in rows if (row.engine, row.kind, row.measure) == WEB}
    first = (log(1.1) ** 2 + log(1.2) ** 2) / 2
    expected = np.sqrt((first + log(1.1) ** 2 + log(1.3) ** 2) / 3)
    assert by_time.keys() == {50, 100}
    for row in by_time.values():
        assert (row.era, row.pairing, row.networks) == ("2012", "paths", 3)
        # Some downloads were cut off.
        assert row.log_ratio_sd == pytest.approx(expected, rel=0.1)
    assert [row.log_ratio_sd for row in rows if row.engine == "shadow"] == [0.1]


WEB = ("emulation", "web", "paired_ttfb")


def test_runs_that_are_not_alike_say_nothing(tmp_path):
    """A copy of a run, another variant, another seed of traffic."""
    for network in ("ci", "quarter"):
        leave_run(tmp_path, "cellsim", SLOW, 1, network=network)
    leave_run(tmp_path, "cellsim", FAST, 1)
    leave_run(tmp_path, "cellsim", SLOW, 1, draws=4)
    with pytest.raises(InputError, match="no two of these runs are alike but for chance"):
        spread_file(tmp_path)


def test_a_run_that_had_ended_earlier_has_cut_off_what_was_under_way():
    times = {
        name: times
        for byte, times in (("first_byte", [2, 3, 1]), ("last_byte", [3, 8, 2]))
        for name in (f"{byte}_us", f"{byte}_after_command_us")
    }
    whole = {"start_us": [0, 4, 12], "observed_us": [3, 8, 2], "outcome": "complete", **times}
    cut = ended_at(pl.DataFrame(whole), 10).select("outcome", "first_byte_us", "last_byte_us", "observed_us")
    assert cut.rows() == [("complete", 2, 3, 3), ("unfinished", 3, None, 6)]


def test_the_model_is_compared_with_itself_and_with_a_change(tmp_path, monkeypatch):
    short = ["--networks", "2", "--warm-up", "5 s", "--measured", "40 s"]
    monkeypatch.setattr("bench.model_pairs.REPEATS", 2)
    spread = tmp_path / "configs/spread.csv"
    spread.parent.mkdir()
    model_pairs(["spread", "ci", *short, "--out", str(spread)])
    rows = {row.pairing: row for row in read_spreads(spread) if row.key[4:] == ("web", "paired_ttfb", 40)}
    assert 0 < rows["paths"].log_ratio_sd < rows["free"].log_ratio_sd
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "promise.csv"
    change = ("--networks", "8", "--change", "scheduler=kist_100ms")
    model_pairs(["promise", "ci", *short, *change, "--out", str(out)])
    row = next(pl.read_csv(out).filter(measure="web, paired_ttfb").iter_rows(named=True))
    assert (row["of"], row["networks"], row["measured_s"]) == (2, 8, 40)
    # The change is larger than what is promised, and both comparisons show it.
    assert 0 < row["promised"] < row["change_mean"] and row["shown"] == 2


def test_a_damaged_file_is_named(tmp_path):
    columns = ",".join(Spread.__dataclass_fields__)
    row = "quarter,emulation,today,free,web,paired_ttfb,120,8,"
    for text, said in (
        ("network,engine\nci,cellsim\n", "has other columns; accepted: network, engine, era"),
        (f"{columns}\n{row}\n", "has an empty cell"),
        (f"{columns}\n{row}much\n", "cannot be read: "),
    ):
        (tmp_path / "spread.csv").write_text(text)
        with pytest.raises(InputError, match=rf"spread\.csv: {said}"):
            read_spreads(tmp_path / "spread.csv")
    with pytest.raises(InputError, match=r"none\.csv: cannot be read"):
        read_spreads(tmp_path / "none.csv")
