"""Numbers, variants and tables as text: of tables, Markdown that is also readable as plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from torsweep.config.knobs import CONSENSUS
from torsweep.config.traffic import KIND_NAMES
from torsweep.engines.registry import find_engine
from torsweep.runsets.plan_tables import REPEAT, Provenance, SourceRecord, at_levels
from torsweep.stats.inference.intervals import Interval
from torsweep.units import counted

SHOWN_METRICS = {"ttfb": "first byte", "ttlb": "last byte"}


def sources_of(provenance: Provenance) -> list[SourceRecord]:
    """The engines that made the runs, the reference first, without repeats."""
    one = SourceRecord(provenance.engine, provenance.engine, provenance.engine_version)
    return [each for each in provenance.sources if not each.label.endswith(REPEAT)] or [one]


def engine_text(provenance: Provenance) -> str:
    """Engine and version; a model is called one, so that nobody takes its numbers for tor's."""
    names = []
    for one in sources_of(provenance):
        kind = [] if find_engine(one.engine).runs_tor else ["a model of tor"]
        about = "; ".join([*kind, *filter(None, [one.transport])])
        names.append(f"{one.label} {one.engine_version}" + (f" ({about})" if about else ""))
    return ", ".join(names)


def era_text(provenance: Provenance) -> str:
    """``era 2012``; on networks of tornettools there is none."""
    return "tor's options as the network has them" if provenance.given_networks else f"era {provenance.era}"


def networks_text(seeds: Sequence[int], given_networks: int = 0) -> str:
    """``8 networks (seeds 1–8)``; of a single given network, ``8 seeds of one network (1–8)``."""
    run = len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    listed = f"{seeds[0]}–{seeds[-1]}" if run else ", ".join(map(str, seeds))
    if given_networks == 1:
        return f"{counted(len(seeds), 'seed')} of one network ({listed})"
    return f"{counted(len(seeds), 'network')} ({'seeds' if len(seeds) > 1 else 'seed'} {listed})"


def plan_networks_text(provenance: Provenance) -> str:
    """The networks of a plan: ``8 networks (seeds 1–8)``, or of each level that has its own number."""
    for knob, levels in provenance.knobs.items():
        of_levels = [provenance.seeds_at({knob: level}) for level in levels]
        if any(seeds != provenance.seeds for seeds in of_levels):
            parts = zip(levels, of_levels, strict=True)
            return ", ".join(f"{networks_text(seeds)} at {knob} {level}" for level, seeds in parts)
    return networks_text(provenance.seeds, provenance.given_networks)


def duration_text(nanoseconds: int) -> str:
    """``3 min``, or seconds where it is no whole number of minutes."""
    seconds = nanoseconds / 1e9
    return f"{seconds / 60:g} min" if seconds and seconds % 60 == 0 else f"{seconds:g} s"


def variant_words(levels: Mapping[str, object]) -> str:
    """A variant, by its levels: ``1000ms, ewma``, ``guards 1, load 0.5``."""
    return ", ".join(level_words(knob, level) for knob, level in levels.items())


def level_words(knob: str, level: object) -> str:
    """A level; one that is a number needs its knob."""
    words = knob.removeprefix(CONSENSUS) if knob.startswith(CONSENSUS) else knob.replace("_", " ")
    return f"{words} {level}" if is_number(level) else str(level)


def is_number(level: object) -> bool:
    """Whether a level is a number without a unit, which says nothing without its knob."""
    return re.fullmatch("[0-9.]+", str(level)) is not None


MOST_TIMES, MOST_NUMBER, MOST_SECONDS = 10.0, 1000.0, 1000.0
"""A bound that is further out is not written out: two or three networks give bounds of any size."""


def interval_text(interval: Interval) -> str:
    """``1.234 [1.000, 1.500]``, without bounds where there are none; a dash without a value."""
    if interval.mean != interval.mean:
        return "–"
    if not interval.known:
        return _number(interval.mean)
    high = _number(interval.high) if interval.high <= MOST_NUMBER else f"over {MOST_NUMBER:,.0f}"
    return f"{_number(interval.mean)} [{_number(interval.low)}, {high}]"


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < MOST_NUMBER else f"{value:,.0f}"


def percent_text(share: float) -> str:
    """A part as a signed percentage: ``+2.5 %``, ``−10.0 %``, ``0.0 %``, ``over 1,000 %``; – for none."""
    if share != share:
        return "–"
    if share > MOST_TIMES:
        return f"over {100 * MOST_TIMES:,.0f} %"
    text = f"{share:+.1%}" if round(share, 3) else "0.0%"
    return text.replace("%", " %").replace("-", "−")


def change_text(share: float, low: float, high: float) -> str:
    """A change and its interval: ``+2.5 % [−1.0 %, +6.0 %]``."""
    return f"{percent_text(share)} [{percent_text(low)}, {percent_text(high)}]"


def points_text(share: float) -> str:
    """A difference of shares: ``+5.8 points``, ``0.0 points``."""
    text = f"{100 * share:+.1f}" if round(share, 3) else "0.0"
    return f"{text} points".replace("-", "−")


def milliseconds_text(seconds: float) -> str:
    """A difference of times: ``+640 ms``, ``−12 ms``, ``over 1,000,000 ms``."""
    if abs(seconds) > MOST_SECONDS:
        return f"over {1000 * MOST_SECONDS:,.0f} ms"
    return f"{1000 * seconds:+,.0f} ms".replace("-", "−")


@dataclass(frozen=True)
class TextTable:
    """A table whose cells are texts, below its title, with notes below it."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    @property
    def markdown(self) -> str:
        """The table padded so that its columns line up in plain text."""
        cells = [list(self.header), *map(list, self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.header))]
        lines = [
            "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
            for row in cells
        ]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n\n".join([f"## {self.title}", "\n".join(lines), *self.notes])


def by_variant(
    provenance: Provenance,
    frame: pl.DataFrame,
    title: str,
    entry: Callable[[pl.DataFrame], str],
    notes: Sequence[str] = (),
) -> TextTable:
    """A table with a row for each variant and a column for each kind and metric."""
    kinds = [kind for kind in KIND_NAMES if kind in frame["kind"].unique().to_list()]
    columns = [(kind, metric) for kind in kinds for metric in SHOWN_METRICS]
    rows = []
    for variant in provenance.variants():
        of_variant = at_levels(frame, variant)
        entries = [
            entry(of_variant.filter(pl.col("kind") == kind, pl.col("metric") == metric))
            for kind, metric in columns
        ]
        rows.append([variant_words(variant), *entries])
    header = ["variant", *(f"{KIND_NAMES[kind]}, {SHOWN_METRICS[metric]}" for kind, metric in columns)]
    return TextTable(title, header, rows, notes)
