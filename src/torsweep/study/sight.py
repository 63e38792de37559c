"""What a network cannot show: known changes, as the model shows them there and on relays at their own rates.

In: ``configs/seen.csv``, which `scripts/seen.py` of known_changes writes; a network; the names of options and
consensus parameters that a comparison changes. Out: sentences, each with the command that can show it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import log1p
from pathlib import Path

import polars as pl

from torsweep.config.conflux import LEAST_RELAYS, WHEN_SMALL
from torsweep.config.traffic import KIND_NAMES
from torsweep.engines.registry import MODEL_ENGINE
from torsweep.home import find
from torsweep.stats.claims.change import TIME_MEASURES
from torsweep.stats.comparison_rows import BYTES, STATISTICS
from torsweep.stats.text import percent_text
from torsweep.study.tor_change import TorChange

SEEN_FILE = Path("configs/seen.csv")

REFERENCE = "own_rates"
"""The network beside which the others are judged: relays at their own rates, a public load."""

LEAST = 0.5
"""The part of the reference's change, as a ratio of logarithms, below which a change is not seen."""


@dataclass(frozen=True)
class _Sort:
    """A sort of change: its plans in known_changes, its title, and how the names of its options begin."""

    plans: tuple[str, ...]
    title: str
    names: str


_SORTS = (
    _Sort(("main", "policy", "half_life"), "the scheduler", "schedulers$|kist|circuitpriority|circuitpolicy"),
    _Sort(("windows",), "windows and congestion control", "cc_|circwindow|circ_max_cell|sendme"),
    _Sort(("guards",), "guards", ".*guard"),
    _Sort(("refill",), "the refill of token buckets", "tokenbucket|perconnbw"),
    _Sort(("nagle",), "Nagle's algorithm", "tcpnodelay"),
)


_CONFLUX = _Sort((), "Conflux", "conflux|cfx_")


@dataclass(frozen=True)
class Unseen:
    """A sort of change that a network does not show, and why; Conflux has no plans."""

    sort: _Sort
    why: str

    @property
    def command(self) -> str:
        """What shows it."""
        if not self.sort.plans:
            return f"--engine shadow --network FILE with {LEAST_RELAYS} relays or more"
        plan = self.sort.plans[0]
        model = f"snakemake --cores all known_changes --config engine=cellsim network={REFERENCE} plan={plan}"
        return f"--engine shadow --network {REFERENCE}, or in the model `{model}`"

    def __str__(self) -> str:
        return f"{self.sort.title} ({self.why})"


@cache
def _rows(file: Path) -> pl.DataFrame:
    return pl.read_csv(file).filter(pl.col("load") == 1, pl.col("statistic") != "p90", engine=MODEL_ENGINE)


def unseen(network: str, relays: int) -> list[Unseen]:
    """What networks of this configuration, of so many ``relays``, do not show: they have most of the measures
    that the reference shows with another sign, or less than half of it.

    Nothing is said of a network that is not in the table, but for Conflux.
    """
    rows = _rows(find(SEEN_FILE))
    own = {_key(row): row for row in rows.filter(network=network).iter_rows(named=True)}
    result = []
    for sort in _SORTS if own else ():
        reference = rows.filter(pl.col("plan").is_in(sort.plans), network=REFERENCE)
        missed = [row for row in reference.iter_rows(named=True) if _is_there(row) and not _is_seen(row, own)]
        there = sum(map(_is_there, reference.iter_rows(named=True)))
        if 2 * len(missed) > there:
            largest = max(missed, key=lambda row: abs(log1p(row["mean"])))
            here = own.get(_key(largest))
            names = (KIND_NAMES, "kind"), (BYTES, "metric"), (STATISTICS, "statistic")
            measure = ", ".join(words[largest[column]] for words, column in names)
            size = percent_text(here["mean"]) if here else "nothing"
            why = (
                f"{largest['change']}: {measure} {size} here, {percent_text(largest['mean'])} on {REFERENCE}"
            )
            result.append(Unseen(sort, f"{why}, in the model"))
    if relays < LEAST_RELAYS:
        result.append(Unseen(_CONFLUX, f"{relays} relays: {WHEN_SMALL}"))
    return result


def _key(row: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("change", "kind", "metric", "statistic"))


def _is_there(row: Mapping[str, float]) -> bool:
    """Whether the reference shows a change that is more than none."""
    return (row["low"] > 0 or row["high"] < 0) and abs(log1p(row["mean"])) > log1p(TIME_MEASURES["paired"][0])


def _is_seen(row: Mapping[str, float], own: Mapping[tuple[object, ...], Mapping[str, float]]) -> bool:
    here = own.get(_key(row))
    return here is not None and log1p(here["mean"]) / log1p(row["mean"]) >= LEAST


def refusal(change: TorChange, network: str, relays: int) -> str:
    """Why ``network`` cannot show ``change``, and what can; empty where it can, or that is not known."""
    names = change.option_names
    missing = (
        each for each in unseen(network, relays) if any(re.match(each.sort.names, name) for name in names)
    )
    return "; ".join(f"{network} cannot show a change of {each}; ask with {each.command}" for each in missing)


def blind_line(network: str, relays: int) -> str:
    """What ``network`` cannot show, and what can, as a line of a plan or below a verdict; empty: nothing."""
    missing = unseen(network, relays)
    return "; ".join(f"{each}: ask with {each.command}" for each in missing)
