"""How far a simulation is, and when it will be done.

In: the lines that Shadow prints on standard error. Out: :class:`Progress`, and a line for people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torsweep.units import rounded_duration

_LINE = re.compile(
    r"Progress: \d+% — simulated: (?P<now>[\d:.]+)/(?P<end>[\d:.]+), realtime: (?P<real>[\d:.]+), "
    r"processes failed: (?P<failed>\d+)"
)


@dataclass(frozen=True)
class Progress:
    """One look at a simulation; times in seconds."""

    simulated_s: float
    end_s: float
    wall_s: float
    failed: int

    def line(self, before: Progress | None) -> str:
        """``42 %: 277 of 660 s simulated, about 5 min left``, at the pace since the look ``before``."""
        simulated, wall = self.simulated_s, self.wall_s
        if before is not None and self.wall_s > before.wall_s and self.simulated_s > before.simulated_s:
            simulated, wall = simulated - before.simulated_s, wall - before.wall_s
        text = f"{100 * self.simulated_s / self.end_s:.0f} %: "
        text += f"{self.simulated_s:.0f} of {self.end_s:.0f} s simulated"
        if simulated > 0:
            left_s = (self.end_s - self.simulated_s) * wall / simulated
            text += f", about {rounded_duration(left_s)} left"
        return text


def parse_progress(line: str) -> Progress | None:
    """What ``line`` says; None when it is no line about progress."""
    match = _LINE.search(line)
    if match is None:
        return None
    return Progress(
        _seconds(match["now"]), _seconds(match["end"]), _seconds(match["real"]), int(match["failed"])
    )


def _seconds(text: str) -> float:
    total = 0.0
    for part in text.split(":"):
        total = total * 60 + float(part)
    return total
