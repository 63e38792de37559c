"""The summary of a plan: every statistic that its runs allow, the verdicts on its claims, and a text to read.

In: the tables of a plan and its experiment. Out, in one folder: a CSV file for each statistic that has rows;
``claims.json``, a verdict for each claim; ``summary.md``, all of it to read, and ``summary.json``, the same
for the page; and ``plan.json``, written last: what the tables were collected from, the baseline, and the
checksums of all other files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import polars as pl

from torsweep.config.experiment import Experiment
from torsweep.config.reading import validate
from torsweep.errors import InputError
from torsweep.formats.files import read_json
from torsweep.runsets.plan_tables import DIMENSIONS, SOURCE, PlanTables, Provenance
from torsweep.stats.claims import Claim, claims_of
from torsweep.stats.claims.judging import Verdict, verdicts
from torsweep.stats.comparison import comparison, is_comparison
from torsweep.stats.comparison_rows import MEASURES_HEADER
from torsweep.stats.inference.interim import Design, read_looks, record_look
from torsweep.stats.listing import module_file, own_modules, told_with_its_line, values_in_modules
from torsweep.stats.measures import Measure
from torsweep.stats.statistic import (
    BASELINE,
    CLAIMS_FILE,
    NAMES,
    NO_SUMMARIES,
    PLAN_FILE,
    SUMMARY_TABLES,
    SUMMARY_TEXT,
    Analysis,
    Statistic,
    statistics,
    write_csv,
)
from torsweep.stats.text import (
    TextTable,
    duration_text,
    engine_text,
    era_text,
    plan_networks_text,
    variant_words,
)
from torsweep.stats.verdicts import CLAIMS, claims_file
from torsweep.storage import with_checksums, write_text
from torsweep.storage.folders import SUMMARIES_FOLDER, own_folder


@dataclass(frozen=True)
class Summary:
    """The content of a summary, before it is written: ``frames`` by the name of the statistic."""

    analysis: Analysis
    frames: Mapping[str, pl.DataFrame]

    @property
    def provenance(self) -> Provenance:
        """Where the numbers come from."""
        return self.analysis.provenance

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the plan says about each claim."""
        return self.analysis.once(verdicts)

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self.frames[name]


def analyse(tables: PlanTables, experiment: Experiment, public: Path | None = None) -> Analysis:
    """The input of all statistics and claims of ``tables``, a plan of ``experiment``; ``public`` is a file of
    public Tor in place of the one that ships.

    Raises InputError when the tables are of another experiment, or of other knobs than their plan has.
    """
    plan = experiment.plan(tables.provenance.plan)
    return Analysis(
        tables,
        _plan_baseline(tables, experiment),
        experiment.precision.margin,
        claims_of(experiment),
        _settings(tables.provenance.knobs, experiment.knobs),
        [dict(variant.levels) for variant in plan.variants],
        experiment.report.names,
        spread=experiment.precision.spread,
        public=public,
    )


def summarize(
    tables: PlanTables,
    experiment: Experiment,
    public: Path | None = None,
    looks: Mapping[int, float] | None = None,
) -> Summary:
    """The summary of the plan of :func:`analyse`; ``looks`` are those at summaries of fewer networks, where
    the experiment keeps none itself. Raises InputError as :func:`analyse` does."""
    analysis = analyse(tables, experiment, public)
    if SOURCE not in analysis.levels:
        networks = len(tables.provenance.seeds)
        earlier = {many: share for many, share in (looks or {}).items() if many < networks}
        analysis.design = Design.after(experiment.precision.looks or earlier, networks)
    return summary_of(analysis)


@told_with_its_line()
def make_summary(
    tables: PlanTables, experiment: Experiment, out: Path, public: Path | None = None
) -> Summary:
    """Write the summary of :func:`summarize` into ``out``, where a summary of fewer networks may be: its
    verdicts have been seen, which the intervals of the claims allow for."""
    looks = read_looks(out / PLAN_FILE) or _look_at(out / CLAIMS_FILE)
    summary = summarize(tables, experiment, public, looks)
    write_summary(summary, out)
    networks = len(tables.provenance.seeds)
    if networks > 1 and SOURCE not in summary.analysis.levels and networks > max(looks, default=0):
        record_look(out / PLAN_FILE, Design(tuple(looks), tuple(looks.values())), networks)
    return summary


def _look_at(claims: Path) -> dict[int, float]:
    """The look at the verdicts in the file ``claims``, which the record beside them has lost."""
    try:
        networks = len(read_json(claims)["seeds"])
    except (InputError, KeyError, TypeError):
        return {}  # There is none, or it is damaged and says nothing.
    return Design().look(networks).shares if networks > 1 else {}


def summary_of(analysis: Analysis) -> Summary:
    """Every statistic that applies to ``analysis``."""
    frames = {}
    for name, statistic in statistics(analysis.provenance.experiment).items():
        frame = statistic.frame(analysis) if statistic.applies(analysis.provenance) else None
        if frame is not None:
            frames[name] = frame
    return Summary(analysis, frames)


def write_summary(summary: Summary, out: Path) -> None:
    """Write the files of the module's docstring into ``out``, each as a whole."""
    own_folder(out, SUMMARIES_FOLDER)
    for left in out.glob("*.csv"):
        left.unlink()
    known = statistics(summary.provenance.experiment)
    files = {name: known[name].file for name, frame in summary.frames.items() if frame.height}
    for name, file in files.items():
        write_csv(summary[name], out / file)
    document = claims_file(summary.analysis).model_dump_json()
    write_text(out / CLAIMS_FILE, json.dumps(json.loads(document), indent=1, ensure_ascii=False) + "\n")
    shown = shown_summary(summary)
    write_text(out / SUMMARY_TEXT, shown.markdown)
    write_text(out / SUMMARY_TABLES, json.dumps(asdict(shown), indent=1, ensure_ascii=False) + "\n")
    plan = {**json.loads(summary.provenance.to_json()), BASELINE: dict(summary.analysis.baseline)}
    if summary.analysis.names:
        plan[NAMES] = dict(summary.analysis.names)
    plan = with_checksums(plan, out, sorted([*files.values(), CLAIMS_FILE, SUMMARY_TEXT, SUMMARY_TABLES]))
    write_text(out / PLAN_FILE, json.dumps(plan, indent=1, ensure_ascii=False) + "\n")


def analysis_modules(experiment: str) -> list[str]:
    """The modules beside the experiment.yaml of ``experiment`` that have more than figures: their files."""
    own = own_modules(experiment)
    found = {module_file(module) for module, value in values_in_modules(experiment) if _is_analysis(value)}
    return [file for file in own if file in found]


def _is_analysis(value: object) -> bool:
    return isinstance(value, Statistic | Measure) or (isinstance(value, type) and issubclass(value, Claim))


@dataclass(frozen=True)
class ShownSummary:
    """A summary in words: its opening paragraphs, and tables by the statistic that they show."""

    title: str
    opening: tuple[str, ...]
    tables: Mapping[str, Sequence[TextTable]]

    @property
    def markdown(self) -> str:
        """The whole of summary.md: what came out, and where the numbers are."""
        answer = [table.markdown for table in self.tables.get(CLAIMS.name, ())]
        others = ", ".join(f"{name}.csv" for name in self.tables if name != CLAIMS.name)
        files = f"Numbers: {others}. The page has them as tables."
        return "\n\n".join([f"# {self.title}", *answer, *self.opening, files]) + "\n"


def shown_summary(summary: Summary) -> ShownSummary:
    """The opening, then the tables of each statistic, by its rank."""
    known = statistics(summary.provenance.experiment).values()
    tables = {
        statistic.name: statistic.in_summary(summary.analysis, summary[statistic.name])
        for statistic in sorted(known, key=lambda each: each.rank)
        if statistic.in_summary is not None and statistic.name in summary.frames
    }
    asked, provenance = summary.analysis.claims, summary.provenance
    if is_comparison(asked):
        said = comparison(claims_file(summary.analysis), asked)
        sentences = [*said.sentences, *said.notes]
        answer = TextTable("What came out", MEASURES_HEADER, [row.cells for row in said.numbers], sentences)
        tables = {**tables, CLAIMS.name: [answer]}
    title = f"{provenance.experiment}, plan {provenance.plan}: summary"
    return ShownSummary(title, _opening(summary), {name: shown for name, shown in tables.items() if shown})


def read_shown_summary(summaries: Path) -> ShownSummary:
    """Read the summary's words in the folder ``summaries``; InputError if the file is missing or damaged."""
    file = summaries / SUMMARY_TABLES
    return validate(ShownSummary, read_json(file, missing=NO_SUMMARIES), file)


def _opening(summary: Summary) -> tuple[str, ...]:
    provenance = summary.provenance
    measured = duration_text(provenance.duration_ns - provenance.warm_up_ns)
    cut = ""
    if provenance.warm_up_ns:
        warm_up = duration_text(provenance.warm_up_ns)
        cut = f"warm-up of {warm_up} cut (downloads under way then count from then on), "
    run = (
        f"Engine {engine_text(provenance)}; {era_text(provenance)}; network {provenance.network}, "
        f"{plan_networks_text(provenance)}; {cut}{measured} measured. "
        f"Baseline: {variant_words(summary.analysis.baseline)}."
    )
    many = len(provenance.seeds)
    if many == 1:
        intervals = "One network: there are no intervals, and no claim can be decided."
    else:
        over = f"{many} networks."
        if provenance.given_networks == 1:
            over = f"{many} seeds of one network: they say nothing about other networks."
        elif any(provenance.seeds_at(each) != provenance.seeds for each in provenance.variants()):
            over = "the networks of a level."
        intervals = f"Intervals are 95 % t-intervals over {over}"
    if summary.analysis.design.interim:
        taken = ", ".join(str(number) for number in summary.analysis.design.interim if number <= many)
        intervals += (
            f" The verdicts may be looked at while networks are added; they have been with {taken}. The "
            "intervals of the claims allow for that, and for more looks; all other intervals are computed as "
            "if the number of networks had been fixed."
        )
    return run, intervals


def _plan_baseline(tables: PlanTables, experiment: Experiment) -> dict[str, str]:
    provenance = tables.provenance
    if provenance.experiment != experiment.name:
        problem, other = "is of another experiment", provenance.experiment
        raise InputError(problem, file=tables.directory, value=other, accepted=experiment.name)
    plan = experiment.plan(provenance.plan)
    baseline = dict(plan.baseline.levels)
    if SOURCE in provenance.knobs:
        baseline = {SOURCE: provenance.knobs[SOURCE][0], **baseline}
    if list(baseline) != list(provenance.knobs):
        problem = f"has other knobs than plan {plan.name} of {experiment.name}"
        found, accepted = ", ".join(provenance.knobs), ", ".join(baseline)
        raise InputError(problem, file=tables.directory, value=found, accepted=accepted)
    if baseline not in provenance.variants() and SOURCE not in provenance.knobs:
        raise InputError("lacks the baseline's runs", file=tables.directory, accepted=plan.baseline.key)
    return baseline


def _settings(knobs: Mapping[str, Sequence[str]], of_experiment: Iterable[str]) -> list[dict[str, str]]:
    """Every combination of levels of the knobs that a sensitivity adds: claims are judged in each."""
    known = (*of_experiment, *DIMENSIONS)
    added = {knob: levels for knob, levels in knobs.items() if knob not in known}
    return [dict(zip(added, levels, strict=True)) for levels in product(*added.values())]
