"""Predictions of what changes of tor did to its users, and when they were written.

In: experiments/backtest/predictions.yaml. Out: its rows, and when each of its intervals came into git.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bench.public_change import Event
from torsweep.config.reading import Section, validate
from torsweep.formats.yaml_file import read_yaml

PREDICTIONS = Path("experiments/backtest/predictions.yaml")
DAY_AND_TIME = "%Y-%m-%d %H:%M"
"""UTC."""

Bounds = Annotated[tuple[float, float], Field(min_length=2, max_length=2)]


class Sides(Section):
    """The two variants of a plan."""

    experiment: str
    plan: str
    before: str
    after: str


class PredictedRuns(Section):
    """Runs of one engine, and what was predicted of them; of two ``networks`` where a side has its own."""

    sides: Sides
    engine: str
    era: str
    network: str | None = None
    networks: Mapping[str, str] = {}
    seeds: tuple[int, int]
    """The first and the last."""
    predicted: Mapping[str, Bounds]
    note: str = ""

    @property
    def all_seeds(self) -> range:
        """The seeds of the networks, from the first to the last."""
        return range(self.seeds[0], self.seeds[1] + 1)

    @property
    def title(self) -> str:
        """Its networks, and what is special about it."""
        network = self.network or " and ".join(self.networks.values())
        return f"{network}, {self.note}" if self.note else network

    def network_of(self, side: str) -> str:
        """The configuration of the network of a side."""
        return self.networks.get(side) or str(self.network)


class Published(Section):
    """What is said of the public outcome: the direction of a quantity, or its log ratio."""

    statement: str
    sign: Mapping[str, int] = {}
    log_ratio: Mapping[str, float] = {}


class Row(Section):
    """A change of the public network, as predictions.yaml has it."""

    change: str
    options: tuple[str, ...] = ()
    """What `torsweep compare` is told to ask about a change of this class."""
    before_ends: date | None = None
    after_starts: date | None = None
    window_days: int = 28
    quiet: bool = False
    dates: str
    why: str
    published: Published
    seen_before: str
    public: Mapping[str, Bounds] = {}
    runs: tuple[PredictedRuns, ...]

    @property
    def event(self) -> Event | None:
        """The dates of the change; None where they are not known."""
        if self.before_ends is None or self.after_starts is None:
            return None
        return Event(self.before_ends, self.after_starts)


class Predictions(Section):
    """All rows by name."""

    rows: Mapping[str, Row]


def read_predictions(file: Path) -> dict[str, Row]:
    """The rows of ``file``; InputError for a key or value that is none."""
    return dict(validate(Predictions, read_yaml(file), file).rows)


def predicted_on(file: Path) -> dict[str, list[str]]:
    """For each row when its intervals came into git: that of the public outcome, then those of its runs."""
    command = ["git", "blame", "--line-porcelain", file.name]
    blamed = subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=True).stdout
    days: dict[str, list[str]] = {}
    row, at = "", ""
    for line in blamed.splitlines():
        if line.startswith("author-time "):
            at = datetime.fromtimestamp(int(line.split()[1]), UTC).strftime(DAY_AND_TIME)
        elif named := re.match(r"\t  (\w+):$", line):
            row = named[1]
        elif re.match(r"\t +(public|predicted): \{", line):
            days.setdefault(row, []).append(at)
    return days
