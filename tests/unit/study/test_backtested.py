"""What `compare` says of a change whose class was predicted badly."""

from __future__ import annotations

from pathlib import Path

from torsweep.study.effect import backtest_notes
from torsweep.study.tor_change import Sides, read_change


def test_a_change_of_a_class_that_was_predicted_badly_has_its_sentence(tmp_path: Path) -> None:
    file = tmp_path / "badly_predicted.csv"
    file.write_text("option,sentence\nKISTSchedRunInterval,one\ncc_alg,other\n")
    asked = read_change(Sides(torrc=("kistschedruninterval 5 msec", "NumCPUs 2")))
    assert backtest_notes(asked, file) == ["one"]
    assert backtest_notes(read_change(Sides(consensus=("cc_alg=0",))), file) == ["other"]
    assert backtest_notes(read_change(Sides(candidate="same")), file) == []


def test_what_ships_is_readable() -> None:
    assert isinstance(backtest_notes(read_change(Sides(candidate="same"))), list)
