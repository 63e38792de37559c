"""Two imports compared, in a folder and in a terminal.

In: two imports, the warm-up, and what was measured of the public network, where the user has it. Out:
:class:`Comparison`, and its folder: ``summary.md`` to read; ``differences.csv``, ``medians.csv``,
``outcomes.csv``, ``curves.csv`` and, of the public network, ``public.csv``; ``figures/``; and last
``comparison.json`` with the checksums of the other files.

Where both imports have the same networks, or at least two of them in common, the difference of a measure is
taken within each of these and its t-interval is over them. Otherwise the two are independent samples, and the
interval is Welch's. Ratios are compared as logarithms. Intervals are at 97.5 %, as those of ``torsweep
compare``: the two times of a size are covered together with 95 %.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console

from torsweep.config.experiment import Duration
from torsweep.config.reading import Section, validate
from torsweep.config.traffic import PERF_KINDS
from torsweep.errors import InputError
from torsweep.imports.measures import KNOB, TIMES, Compared, Measure, compared, downloads_of, measures
from torsweep.imports.stored import Import
from torsweep.runsets.public_tor import read_public_tor
from torsweep.stats.claims.judging import UNCLEAR, Answer, Question, above, below, within, within_factor
from torsweep.stats.inference.intervals import (
    CONFIDENCE,
    Interval,
    bonferroni,
    exponential,
    welch_interval,
)
from torsweep.stats.statistic import write_csv
from torsweep.stats.streams.curves import CURVE_PROBABILITIES, curves
from torsweep.stats.streams.medians import outcome_counts, run_quantiles
from torsweep.stats.text import markdown_table
from torsweep.storage import write_text
from torsweep.storage.folders import IMPORTS_COMPARED_FOLDER, own_folder
from torsweep.storage.manifest import with_checksums
from torsweep.study.verdict import NO_EFFECT, Line, bounds_text, change_text, measures_table

FORMAT = "torsweep-compared-imports"
COMPARISON_FILE = "comparison.json"
TOGETHER = bonferroni(CONFIDENCE, len(TIMES))


@dataclass(frozen=True)
class _Line(Line):
    """A measure of two imports, which are ``paired`` or not; ``means`` are those of both."""

    paired: bool
    means: tuple[float, float]

    @property
    def verdict(self) -> str:
        """As for any measure; how many more networks would decide is known of pairs alone."""
        if not self.paired and self.answer.shows == UNCLEAR:
            return "not shown"
        return super().verdict.replace(NO_EFFECT, "the same in every network")


@dataclass(frozen=True)
class Comparison:
    """What was found; ``pairing`` says how the networks were compared, in a sentence."""

    baseline: str
    candidate: str
    pairing: str
    lines: list[_Line]
    tables: dict[str, pl.DataFrame]
    about: dict[str, object]


class _Options(Section):
    warm_up: Duration


def compare_imports(
    baseline: Import, candidate: Import, warm_up: str, tor_metrics: Path | None = None
) -> Comparison:
    """The comparison of ``candidate`` with ``baseline``, without the first ``warm_up`` of each simulation.

    Raises InputError for a warm-up that is none or leaves an import without downloads, and for a file
    ``tor_metrics`` that is no measurement of the public network.
    """
    warm_up_ns = validate(_Options, {"warm_up": warm_up}, None).warm_up
    both = compared(baseline, candidate, warm_up_ns // 1000)
    downloads = downloads_of(both)
    shared, pairing = _pairing(both)
    found = [_line(measure, both, shared) for measure in measures(both, downloads)]
    found = [line for line in found if line.answer.interval.networks]
    tables = {
        "differences": _differences(found, both.names),
        "medians": run_quantiles(downloads, [KNOB]),
        "outcomes": outcome_counts(downloads, [KNOB]),
        "curves": curves(downloads, [KNOB], list(TIMES)),
    }
    if tor_metrics is not None:
        tables["public"] = _public(tor_metrics)
    about = {
        "imports": {each.name: [asdict(run) for run in each.runs] for each in both.imports},
        "networks": {f"{name}/{run}": number for (name, run), number in both.numbers.items()},
        "paired": list(shared),
        "warm_up_ns": warm_up_ns,
    }
    return Comparison(baseline.name, candidate.name, pairing, found, tables, about)


def _public(file: Path) -> pl.DataFrame:
    """Quantiles of the times in ``file``: metric, kind, share and time_s. Some are of any size."""
    found = read_public_tor(file)
    frames = []
    for metric, kind in product(TIMES, PERF_KINDS):
        of_kind = pl.col("kind").is_null() | (pl.col("kind") == kind)
        values = found.filter(pl.col("measure") == metric, of_kind)["value"].to_numpy()
        if len(values):
            quantiles = {"share": CURVE_PROBABILITIES, "time_s": np.quantile(values, CURVE_PROBABILITIES)}
            frames.append(pl.DataFrame({"metric": metric, "kind": kind, **quantiles}))
    if not frames:
        raise InputError("holds no time of a download", file=file)
    return pl.concat(frames)


def _pairing(both: Compared) -> tuple[list[int], str]:
    """The networks to pair by, none where imports are independent samples; and that in a sentence."""
    one, other = (both.networks(name) for name in both.names)
    shared = sorted(set(one) & set(other))
    if shared and (len(shared) > 1 or one == other):
        left = len(one) + len(other) - 2 * len(shared)
        rest = f"; {left} that only one of them has are left out" if left else ""
        many = f"{len(shared)} network{'s' if len(shared) > 1 else ''}"
        return shared, f"paired on {many} that both have{rest}"
    why = "only one network is in both" if shared else "no network is known to be in both"
    return [], f"unpaired (Welch), {len(one)} against {len(other)} networks: {why}"


def _line(measure: Measure, both: Compared, shared: Sequence[int]) -> _Line:
    of = [measure.of(name) for name in both.names]
    if not all(of):
        nothing = Interval(np.nan, np.nan, np.nan, 0, TOGETHER)
        return _Line(measure.name, _answer(measure, nothing), bool(shared), (np.nan, np.nan))
    networks = [list(shared) or both.networks(name) for name in both.names]
    sides = [
        np.array([values.get(number, np.nan) for number in numbers])
        for values, numbers in zip(of, networks, strict=True)
    ]
    if measure.relative:
        sides = [np.log(side) for side in sides]
    means = [float(side.mean()) for side in sides]
    if measure.relative:
        means = [float(np.exp(mean)) for mean in means]
    answer = (
        _question(measure, sides[1] - sides[0]).answer(TOGETHER)
        if shared
        else _answer(measure, _relative(measure, welch_interval(sides[0], sides[1], TOGETHER)))
    )
    return _Line(measure.name, answer, bool(shared), (means[0], means[1]))


def _relative(measure: Measure, interval: Interval) -> Interval:
    return exponential(interval) if measure.relative else interval


def _question(measure: Measure, values: np.ndarray) -> Question:
    return Question(
        measure.name,
        values,
        "not 0",
        lambda interval: above(0)(interval) or below(0)(interval),
        lambda _: False,
        (within_factor if measure.relative else within)(measure.margin),
        confidence=TOGETHER,
        logarithms=measure.relative,
    )


def _answer(measure: Measure, interval: Interval) -> Answer:
    """What the interval of independent samples shows."""
    question = _question(measure, np.empty(0))
    shows = question.shows(interval, interval)
    return Answer(measure.name, interval, interval, question.required, shows)


def _differences(found: Sequence[_Line], names: Sequence[str]) -> pl.DataFrame:
    """A row for each measure: geometric means over networks (of shares, means), the change, its interval."""
    return pl.DataFrame(
        {
            "measure": line.measure,
            **dict(zip(("baseline", "candidate"), line.means, strict=True)),
            "change": line.answer.interval.mean,
            "low": line.answer.interval.low,
            "high": line.answer.interval.high,
            "confidence": line.answer.interval.confidence,
            "networks": line.answer.interval.networks,
            "paired": line.paired,
            "verdict": line.verdict,
        }
        for line in found
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def write_comparison(comparison: Comparison, out: Path) -> None:
    """Write the files of the module's docstring into ``out``, each as a whole."""
    own_folder(out, IMPORTS_COMPARED_FOLDER)
    (out / COMPARISON_FILE).unlink(missing_ok=True)
    for left in out.glob("*.csv"):
        left.unlink()
    for name, table in comparison.tables.items():
        write_csv(table, out / f"{name}.csv")
    write_text(out / "summary.md", _text(comparison))
    files = [*(f"{name}.csv" for name in comparison.tables), "summary.md"]
    document = {"format": FORMAT, "format_version": 1, **comparison.about, "pairing": comparison.pairing}
    document = with_checksums(document, out, files)
    write_text(out / COMPARISON_FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _text(comparison: Comparison) -> str:
    rows = []
    for line in comparison.lines:
        interval = line.answer.interval
        rows.append([line.measure, change_text(interval), bounds_text(interval), line.verdict])
    title = f"{comparison.candidate} against {comparison.baseline}"
    header = ["measure", "change", f"interval ({100 * TOGETHER:.1f} %)", "verdict"]
    table = markdown_table(title, header, rows)
    return f"{table}\n\n{comparison.pairing[0].upper()}{comparison.pairing[1:]}.\n"


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the table under two lines that say what was compared, and how."""
    console.print(f"{comparison.candidate}, against {comparison.baseline}", comparison.pairing, sep="\n")
    console.print(measures_table(comparison.lines))
