"""The answer of a comparison: on a terminal, as a text to paste into a merge request, and as JSON.

In: the summary of a study. Out: sentences, the table of the measures behind them, and in what they were
found: both tors, networks, machine and the command.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from torsweep.config.knobs import STOCK_TOR
from torsweep.config.variant import Variant
from torsweep.formats.files import read_json
from torsweep.provenance import PROVENANCE_FILE
from torsweep.stats.claims import Claim
from torsweep.stats.claims.judging import INCONCLUSIVE, NO_DIFFERENCE
from torsweep.stats.comparison import MIXED, OPEN, WORSE, Comparison, KindVerdict, comparison
from torsweep.stats.comparison_rows import MEASURES_HEADER, SHOWN, Row
from torsweep.stats.inference.planning import POWER, size_text
from torsweep.stats.measures.summary import MEASURE_DIFFERENCES
from torsweep.stats.text import change_text
from torsweep.stats.verdicts import read_claims
from torsweep.storage import write_text
from torsweep.study.workload import Workload
from torsweep.units import SECOND_NS, counted, rounded_duration

COSTS = {"processor_time_total": "processor time", "peak_memory_total": "peak memory"}
"""Measures of what processes of a role cost together, and what they are called."""

ROOM, LEAST_ROWS = 10, 2
"""Lines on a terminal for sentences and rows of the table, and the fewest rows."""

CAN_SHOW = f"can show ({100 * POWER:.0f} %)"

COLOURS = {SHOWN: "green", NO_DIFFERENCE: "blue", INCONCLUSIVE: "yellow"}


def print_verdict(
    summary: Path,
    asked: Sequence[Claim],
    about: str,
    console: Console,
    over: str | None = None,
    unit: str = "network",
) -> Comparison:
    """Print what the comparison says, and return it; InputError where there is no summary.

    Above it is ``about``, and what it is ``over`` where that is no network of a configuration.
    """
    claims_file = read_claims(summary)
    said = comparison(claims_file, asked, unit)
    if over is None:
        many = f"{counted(len(said.networks), 'network')} of {claims_file.network}"
        where = f"{many}, {claims_file.engine}, era {claims_file.era}"
    else:
        where = f"{claims_file.engine}, {over}"
    console.print(Text("\n".join([about, where, *said.sentences])), soft_wrap=True)
    rows = said.main_numbers[: max(ROOM - len(said.sentences), LEAST_ROWS)]
    console.print(measures_table(rows))
    more = len(said.rows) - len(rows)
    note = f"{said.notes[1]} The page has {counted(more, 'more measure')}." if more else said.notes[1]
    console.print(Text("\n".join(filter(None, [note, costs_of(summary)]))), soft_wrap=True)
    return said


def costs_of(summary: Path) -> str:
    """What processes of each role cost more; empty where the ``summary`` has no differences of measures."""
    known = (summary / MEASURE_DIFFERENCES.file).is_file()
    return "; ".join(cost_lines(MEASURE_DIFFERENCES.read(summary))) if known else ""


def cost_lines(differences: pl.DataFrame) -> Iterator[str]:
    """``Relays: processor time +2.5 % [−1.0, +6.0], memory …`` and the same of clients.

    ``differences`` has the columns of :data:`MEASURE_DIFFERENCES`. A role whose processes were not measured
    has no line.
    """
    for role in ("relay", "client"):
        of_role = differences.filter(group=role).drop_nulls(["change", "change_low"])
        changes = [
            f"{name} {change_text(row['change'], row['change_low'], row['change_high'])}"
            for measure, name in COSTS.items()
            for row in of_role.filter(measure=measure).iter_rows(named=True)
        ]
        if changes:
            text = ", ".join(changes).replace(" %,", ",").replace(" %]", "]")
            yield f"{role.capitalize()}s: {text}"


def can_show_text(row: Row) -> str:
    """``24 %, 16: 17 %``: the change that these networks are likely to show, and the one that 16 would. Where
    these show none below 100 %, the two smallest numbers of networks that do."""
    sizes = [
        size_text(size) if number == row.interval.networks else f"{number}: {size_text(size)}"
        for number, size in row.can_show.items()
        if size < 1
    ]
    return ", ".join(sizes[:2]) or "–"


def measures_table(rows: Iterable[Row]) -> Table:
    """A row for each measure: its change, the interval, the verdict, and what can be shown."""
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    for name in (*MEASURES_HEADER, CAN_SHOW):
        table.add_column(name, justify="right" if name in ("change", "interval") else "left")
    for row in rows:
        *cells, verdict = row.cells
        table.add_row(*cells, Text(verdict, style=COLOURS[row.verdict]), can_show_text(row))
    return table


ANSWER_FILE = "answer.md"


@dataclass(frozen=True)
class ComparisonAnswer:
    """What is said, ``about`` what, and the ``facts`` that it was found with, by name."""

    about: str
    said: Comparison
    facts: Mapping[str, str]
    command: str

    def markdown(self) -> str:
        """The block to paste."""
        kinds = "\n".join(f"- {_escaped(sentence)}" for sentence in self.said.sentences)
        rows = [MEASURES_HEADER, ("---",) * len(MEASURES_HEADER), *(row.cells for row in self.said.numbers)]
        table = "\n".join(f"| {' | '.join(map(_escaped, cells))} |" for cells in rows)
        facts = "\n".join(f"- {name}: {_escaped(text)}" for name, text in self.facts.items())
        notes = _escaped(". ".join(note.removesuffix(".") for note in self.said.notes))
        parts = [f"**{_escaped(self.about)}**", kinds, table, f"{notes}.", facts, f"    {self.command}"]
        return "\n\n".join(parts) + "\n"

    def json_text(self) -> str:
        """The answer as one JSON document; what is not known is null."""
        document = {
            "about": self.about,
            "verdict": self.said.verdict,
            "sentence": self.said.sentence,
            "kinds": [_kind(kind) for kind in self.said.kinds],
            "notes": self.said.notes,
            **{name.replace(" ", "_"): text for name, text in self.facts.items()},
            "command": self.command,
        }
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)

    def write(self, page: Path) -> Path:
        """Write the block beside the ``page``; the file."""
        file = page.with_name(ANSWER_FILE)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, self.markdown())
        return file

    def fails(self, conditions: Sequence[str]) -> bool:
        """Whether one of ``conditions`` holds for any group of downloads; mixed counts as worse, and so do
        shorter times where more than 2 % more clients may get nothing."""
        kinds = self.said.kinds
        holds = {
            "shown": any(kind.verdict == SHOWN for kind in kinds),
            "worse": any(kind.direction in (WORSE, MIXED, OPEN) for kind in kinds),
            "inconclusive": any(kind.verdict == INCONCLUSIVE and not kind.secondary for kind in kinds),
        }
        return any(holds[condition] for condition in conditions)


def answer_of(plan: Workload, said: Comparison, about: str) -> ComparisonAnswer:
    """The answer of the study that ``plan`` has run."""
    document = plan.play.study.document
    return ComparisonAnswer(about, said, dict(_facts(plan, said)), document["report"]["source"])


def _facts(plan: Workload, said: Comparison) -> Iterator[tuple[str, str]]:
    experiment, play = plan.experiment, plan.play
    planned = experiment.plan()
    candidate = next(variant for variant in planned.variants if variant != planned.baseline)
    sides = {"baseline": planned.baseline, "candidate": candidate}
    runs = {side: _provenance(plan, variant) for side, variant in sides.items()}
    for side, variant in sides.items():
        yield side, ", ".join(filter(None, [_side(plan, variant), runs[side].get("engine_version")]))
    measured = rounded_duration(experiment.measured / SECOND_NS)
    many = counted(len(said.networks), said.unit)
    where = f"{many} of {experiment.network}" if said.unit == "network" else f"{many}, {experiment.network}"
    yield "networks", f"{where}, {play.engine}, era {experiment.era}, {measured} measured"
    if machine := runs["candidate"].get("machine"):
        yield "machine", f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}"
    if costs := costs_of(plan.play.summary):
        yield "cost", costs
    if plan.blind:
        yield "cannot show", f"changes of {plan.blind}"


def _provenance(plan: Workload, variant: Variant) -> Mapping[str, Any]:
    """What a run of ``variant`` says of itself; nothing where runs were deleted and their summary is left."""
    run = plan.play.plan.run_directory(variant, plan.experiment.seeds[0])
    file = plan.play.study.folder / run / PROVENANCE_FILE
    return read_json(file) if file.is_file() else {}


def _side(plan: Workload, variant: Variant) -> str:
    """The levels of a side, and the commit and patches of its tor."""
    levels = dict(variant.levels)
    name = levels.get("tor", STOCK_TOR)
    entries = plan.play.study.document.get("tors", {})
    entry = entries.get(name, {})
    entry = entries.get(entry.get("same"), {}) if "same" in entry else entry
    parts = [", ".join(levels.values())]
    parts += [f"commit {entry['revision']}"] if "revision" in entry else []
    parts += [f"with {Path(patch).name}" for patch in entry.get("patches", ())]
    return ", ".join(parts)


def _kind(kind: KindVerdict) -> dict[str, object]:
    said = {name: getattr(kind, name) for name in ("kind", "verdict", "direction", "sentence")}
    return {**said, "measures": [_measure(row) for row in kind.rows]}


def _measure(row: Row) -> dict[str, object]:
    interval = row.interval
    numbers = {"change": interval.mean, "low": interval.low, "high": interval.high, "change_s": row.change_s}
    known = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
    return {"measure": row.measure, **known, "bound": row.bound, "verdict": row.verdict}


def _escaped(text: str) -> str:
    """``text`` as Markdown shows it as it is."""
    return "".join(f"\\{letter}" if letter in "\\`*_|<[" else letter for letter in text)
