"""The interim analysis of a sweep that grows: are its claims decided, or does it need another batch of
networks?

In: the tables of the newest batch, and what the analysis before found. Out: an :class:`InterimAnalysis`, as
JSON. It keeps the values of every comparison, one a network, so that an analysis reads the runs of its own
batch only; and the time that the runs have taken, for the budget. It depends on nothing else, so that the
same runs lead to the same networks on any machine, unless the budget is one of time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from torsweep.config.experiment import Experiment
from torsweep.errors import InputError
from torsweep.formats.json_file import read_document
from torsweep.runsets.reading import PlanTables
from torsweep.stats.claims.judging import INCONCLUSIVE, NOT_TESTED, Inquiry, Verdict, inquiries
from torsweep.stats.inference.interim import Design
from torsweep.stats.summarize import analyse
from torsweep.storage import write_text

INTERIM_FORMAT, INTERIM_VERSION = "torsweep-interim", 1


@dataclass(frozen=True)
class InterimAnalysis:
    """``seeds`` of the networks so far, seconds of a core their runs took, and what they come to.

    ``enough`` says why no further batch is needed; it is empty where one is.
    """

    seeds: tuple[int, ...]
    core_s: float
    inquiries: tuple[Inquiry, ...]
    verdicts: tuple[Verdict, ...]
    enough: str

    def line(self) -> str:
        """``16 networks: 3 of 4 claims are decided; bulk_worst is open``."""
        still_open = [_name(verdict.claim, verdict.setting) for verdict in self.verdicts if verdict.open]
        decided = sum(verdict.verdict not in (INCONCLUSIVE, NOT_TESTED) for verdict in self.verdicts)
        text = f"{len(self.seeds)} networks: {decided} of {len(self.verdicts)} claims are decided"
        text += f"; open: {', '.join(still_open)}" if still_open else ""
        return f"{text}; {self.enough}" if self.enough else f"{text}; more networks follow"

    def write(self, file: Path) -> None:
        """Write it as JSON."""
        document = {
            "format": INTERIM_FORMAT,
            "format_version": INTERIM_VERSION,
            "seeds": self.seeds,
            "core_s": self.core_s,
            "enough": self.enough,
            "verdicts": [
                {key: getattr(verdict, key) for key in ("claim", "setting", "verdict", "reason")}
                for verdict in self.verdicts
            ],
            "values": _values_by_question(self.inquiries),
        }
        write_text(file, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def analyse_batch(
    tables: PlanTables, experiment: Experiment, previous: Path | None, core_s: float = 0.0
) -> InterimAnalysis:
    """What the networks of ``tables``, a batch whose runs took ``core_s``, and of the analysis in the file
    ``previous`` come to.

    Raises InputError when ``previous`` is no analysis of the same comparisons, or the two together are no
    number of networks at which there is one.
    """
    nothing: dict[str, Any] = {"seeds": [], "core_s": 0.0, "values": {}}
    before = read_document(previous, INTERIM_FORMAT, INTERIM_VERSION) if previous else nothing
    analysis = analyse(tables, experiment)
    judged = [_with_earlier(inquiry, before["values"], previous) for inquiry in inquiries(analysis)]
    seeds = (*before["seeds"], *tables.provenance.seeds)
    design = Design.of(experiment)
    design.check(len(seeds))
    core_s += before["core_s"]
    verdicts = tuple(inquiry.verdict(design) for inquiry in judged)
    enough = _enough(verdicts, len(seeds), core_s, experiment)
    return InterimAnalysis(seeds, core_s, tuple(judged), verdicts, enough)


def _enough(verdicts: Sequence[Verdict], networks: int, core_s: float, experiment: Experiment) -> str:
    precision = experiment.precision
    if not any(verdict.open for verdict in verdicts):
        return "no claim is open"
    if networks == precision.interim[-1]:
        return f"precision allows no more than {networks} networks"
    if precision.core_time is not None and core_s * 1e9 >= precision.core_time:
        return f"the runs have taken {core_s:.0f} s of a core, as much as precision allows"
    return ""


def _with_earlier(inquiry: Inquiry, earlier: Mapping[str, Any], file: Path | None) -> Inquiry:
    if file is None or not inquiry.questions:
        return inquiry
    questions = []
    for question in inquiry.questions:
        values = earlier.get(_name(inquiry.claim.id, inquiry.setting), {}).get(question.statement)
        if values is None:
            raise InputError("is an analysis of other comparisons", file=file, accepted=question.statement)
        numbers = np.array([np.nan if value is None else value for value in values])
        questions.append(replace(question, values=np.concatenate([numbers, question.values])))
    return replace(inquiry, questions=tuple(questions))


def _values_by_question(judged: Sequence[Inquiry]) -> dict[str, dict[str, list[float | None]]]:
    return {
        _name(inquiry.claim.id, inquiry.setting): {
            question.statement: [float(value) if np.isfinite(value) else None for value in question.values]
            for question in inquiry.questions
        }
        for inquiry in judged
    }


def _name(claim: str, setting: str) -> str:
    return f"{claim} ({setting})" if setting else claim
