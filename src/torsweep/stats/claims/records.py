"""The test of claims about measures of runs, and what tests of claims about records share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
from pydantic import Field

from torsweep.config.reading import RefusedValue
from torsweep.config.replicates import Margin
from torsweep.config.variant import Level
from torsweep.runsets.plan_tables import at_levels
from torsweep.stats.claims import Claim
from torsweep.stats.claims.judging import Question, above, below, other_levels, place_text, within
from torsweep.stats.measures import ALL
from torsweep.stats.measures.summary import measures_of, numbers_of_runs
from torsweep.stats.statistic import Analysis, Levels
from torsweep.stats.streams.differences import networks_at, paired


def share_above(name: str, values: np.ndarray, least: float) -> Question:
    """Whether a share is above ``least``."""
    return Question(name, values, f"> {least:g}", above(least), below(least))


def by_network(runs: pl.DataFrame, values: Levels, column: str, networks: pl.Series) -> np.ndarray:
    """``column`` of the rows that have the ``values``, one a network; NaN where one has no such row."""
    rows = at_levels(runs, values).select("seed", column)
    by_network = networks.to_frame().join(rows, on="seed", how="left", maintain_order="left")
    return by_network[column].fill_null(float("nan")).to_numpy()


class ExtremeMeasure(Claim):
    """``measure`` is lower, or higher, at ``level`` than at each other level of the knob."""

    test: Literal["extreme_measure"]
    measure: str
    """Name of the measure, as in measures.csv."""
    group: Annotated[str, Field(min_length=1)] = ALL
    """Kind of client, position of relays or role; ``all`` for a measure that is not parted."""
    level: Level
    """The level of the knob that the claim is about."""
    extreme: Literal["lowest", "highest"]
    """Which of its levels that is."""
    margin: Margin | None = None
    """A smaller difference (of a share, in shares) counts as none; ``precision``'s where it is left out."""

    def check(self, experiment: Any) -> None:
        """The measure has to be there."""
        known = measures_of(experiment.name)
        if self.measure not in known:
            accepted = ", ".join(known)
            raise RefusedValue("is no measure", key="measure", value=self.measure, accepted=accepted)

    def questions(self, analysis: Analysis, levels: Levels) -> list[Question]:
        """Each other level against the claimed one, paired by network: of shares the difference, of anything
        else the relative one. Shown: the interval lies above 0 (below, for the highest). The opposite: it
        lies below (above). No difference: within ± the margin."""
        margin = analysis.margin if self.margin is None else self.margin
        lowest, share = self.extreme == "lowest", self._is_share(analysis)
        what = f"{self.measure}, {self.group}" if self.group != ALL else self.measure
        return [
            Question(
                f"{what}: {other} against {self.level}{place_text(self, levels)}",
                self._changes(analysis, levels, other),
                "> 0" if lowest else "< 0",
                above(0) if lowest else below(0),
                below(0) if lowest else above(0),
                within(margin),
                logarithms=not share,
            )
            for other in other_levels(self, analysis, self.level)
        ]

    def _is_share(self, analysis: Analysis) -> bool:
        return measures_of(analysis.provenance.experiment)[self.measure].share

    def _changes(self, analysis: Analysis, levels: Levels, other: str) -> np.ndarray:
        """The change from the claimed level to ``other`` in each network; NaN where one has no number."""
        runs = analysis.once(numbers_of_runs).get((self.measure, self.group))
        if runs is None:
            return np.full(len(analysis.provenance.seeds), np.nan)
        one, two = ({**levels, self.knob: level} for level in (self.level, other))
        held = {knob: level for knob, level in levels.items() if knob != self.knob}
        pair = paired(runs, "value", one, two, networks_at(runs, held))
        if self._is_share(analysis):
            return pair.difference_s
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.isfinite(pair.log_ratio), pair.log_ratio, np.nan)
