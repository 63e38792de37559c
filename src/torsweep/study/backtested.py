"""What the backtest says of a change like the one that somebody asks about.

In: the change; ``experiments/backtest/badly_predicted.csv``, which ``bench.backtest`` writes. Out: a sentence
for each class of changes that private networks predicted badly, where one of its options or parameters is
told.
"""

from __future__ import annotations

from pathlib import Path

from torsweep.formats.frames import read_csv
from torsweep.home import find
from torsweep.study.change import TorChange

BADLY_PREDICTED = Path("experiments/backtest/badly_predicted.csv")
"""Columns ``option`` and ``sentence``."""


def backtest_notes(change: TorChange, file: Path = BADLY_PREDICTED) -> list[str]:
    """The sentences on ``change``."""
    told = change.option_names
    rows = read_csv(find(file), None).select("option", "sentence").rows()
    return [sentence for option, sentence in rows if option.lower() in told]
