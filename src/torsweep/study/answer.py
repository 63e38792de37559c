"""The answer of a comparison as a text to paste into a merge request, and as JSON.

In: what a comparison says, and the study. Out: :class:`ComparisonAnswer`: the sentence, the table, and in
what it was found: both tors, networks, machine, the command, and how far runs of one tor are apart by chance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torsweep.config.knobs import STOCK_TOR
from torsweep.config.traffic import KIND_NAMES
from torsweep.config.variant import Variant
from torsweep.formats.json_file import read_json
from torsweep.provenance import PROVENANCE_FILE
from torsweep.stats.claims.judging import INCONCLUSIVE
from torsweep.stats.comparison import (
    BYTES,
    MEASURES_HEADER,
    MIXED,
    SHOWN,
    WORSE,
    Comparison,
    KindVerdict,
    Row,
)
from torsweep.stats.inference.planning import basis
from torsweep.stats.inference.power import size_text
from torsweep.storage import write_text
from torsweep.study.sight import unseen
from torsweep.study.verdict import costs_of
from torsweep.study.workload import Workload
from torsweep.units import SECOND_NS, counted, rounded_duration

ANSWER_FILE = "answer.md"


@dataclass(frozen=True)
class ComparisonAnswer:
    """What is said, ``about`` what, and by name the ``facts`` that it was found with."""

    about: str
    said: Comparison
    facts: Mapping[str, str]
    command: str

    def markdown(self) -> str:
        """The block to paste."""
        kinds = "\n".join(f"- {_escaped(kind.sentence)}" for kind in self.said.kinds)
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
        """Whether one of ``conditions`` holds for any kind of client; what is better for some and worse for
        others is worse."""
        kinds = self.said.kinds
        holds = {
            "shown": any(kind.verdict == SHOWN for kind in kinds),
            "worse": any(kind.direction in (WORSE, MIXED) for kind in kinds),
            "inconclusive": any(kind.verdict == INCONCLUSIVE for kind in kinds),
        }
        return any(holds[condition] for condition in conditions)


def answer_of(plan: Workload, said: Comparison, about: str) -> ComparisonAnswer:
    """The answer of the study that ``plan`` has played."""
    document = plan.play.study.document
    return ComparisonAnswer(about, said, dict(_facts(plan, said)), document["report"]["source"])


def _facts(plan: Workload, said: Comparison) -> Iterator[tuple[str, str]]:
    experiment, play = plan.experiment, plan.play
    planned = experiment.plan()
    candidate = next(variant for variant in planned.variants if variant != planned.baseline)
    sides = {"baseline": planned.baseline, "candidate": candidate}
    runs = {side: _provenance(plan, variant) for side, variant in sides.items()}
    for side, variant in sides.items():
        yield side, ", ".join(filter(None, [_side(plan, variant), runs[side].get("engine_version", "")]))
    measured = rounded_duration(experiment.measured / SECOND_NS)
    many = counted(len(said.networks), said.unit)
    where = f"{many} of {experiment.network}" if said.unit == "network" else f"{many}, {experiment.network}"
    yield "networks", f"{where}, {play.engine}, era {experiment.era}, {measured} measured"
    if machine := runs["candidate"].get("machine"):
        yield "machine", f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}"
    if chance := _chance(plan):
        yield "by chance alone", chance
    if costs := costs_of(plan.play.summary):
        yield "cost", "; ".join(costs)
    if missing := unseen(experiment.network, plan.network.relay_count):
        yield "cannot show", f"changes of {'; '.join(map(str, missing))}"


def _provenance(plan: Workload, variant: Variant) -> Mapping[str, Any]:
    """What a run of ``variant`` says of itself; nothing where runs were deleted and their summary stands."""
    play = plan.play
    run = play.study.folder / play.plan.run_directory(variant, plan.experiment.seeds[0])
    file = run / PROVENANCE_FILE
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


def _chance(plan: Workload) -> str:
    """How far two runs of one tor are apart, where that is known; empty where it is not."""
    experiment = plan.experiment
    found = plan.shown(max(2, len(experiment.seeds)))
    if not found:
        return ""
    sizes = ", ".join(
        f"{size_text(math.expm1(row.log_ratio_sd))} ({KIND_NAMES[kind]}, {BYTES[metric]})"
        for (kind, metric), (_, row) in found.items()
    )
    bases = dict.fromkeys(basis(row, plan.play.engine, experiment.pairing) for _, row in found.values())
    return f"two runs of one tor differ by {sizes} (standard deviation, same download), {'; '.join(bases)}"


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
