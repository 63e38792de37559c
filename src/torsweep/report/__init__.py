"""One page for each plan: the question, the results, and how to make them again.

In: the folders of a plan's summaries, figures and networks, and its experiment.yaml. Out: the text of an HTML
page that needs no other file or host; the same input gives the same text. Every number comes from the
summaries or from ``torsweep network describe``; the page is laid out by templates/report.html.j2.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from PIL import Image, UnidentifiedImageError

from torsweep import __version__
from torsweep.config.experiment import Experiment, load_experiment
from torsweep.config.tors import Tors
from torsweep.config.variant import FREE
from torsweep.engines.registry import find_engine
from torsweep.errors import InputError
from torsweep.formats.files import MIB, read_bytes
from torsweep.report.networks import Networks, Row, describe_networks
from torsweep.runsets.plan_tables import Provenance, at_levels, parse_provenance
from torsweep.stats.claims import claims_of
from torsweep.stats.claims.judging import Verdict
from torsweep.stats.comparison import Comparison, comparison, is_comparison
from torsweep.stats.comparison_rows import MEASURES_HEADER
from torsweep.stats.inference.intervals import CONFIDENCE, Interval
from torsweep.stats.likeness import public_file
from torsweep.stats.measures.summary import MEASURE_MEANS
from torsweep.stats.statistic import PLAN_FILE, origin_of, read_plan
from torsweep.stats.summarize import ShownSummary, read_shown_summary
from torsweep.stats.text import TextTable, interval_text, sources_of
from torsweep.stats.verdicts import CLAIMS, DRIFT_NOTE, ClaimsFile, read_claims
from torsweep.study.portable import portable_experiment, repeat_command, repeat_overrides, repeat_place
from torsweep.tor.repository import difference, find_commit, is_repository, left_main

SIGNATURE = "torsweep-report"
"""Stands in each page, as the name of what made it."""

MOST_PICTURE_BYTES = 16 * MIB
MOST_PATCH_BYTES = 10 * MIB
MOST_SHOWN_CHANGE = 200_000
"""Letters of a change that a page shows; of a larger one it names the command."""
DOTS_PER_INCH, CSS_PIXELS_PER_INCH = 300, 96
"""A PNG's; as SVG, the figures of whole curves are twice as large."""

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Picture:
    """A figure of a page: title and how to read it are what its PNG says, ``source`` is the address of its
    bytes as data, sizes are in CSS pixels at print size."""

    name: str
    title: str
    how: str
    alternative: str
    source: str
    width: int
    height: int


@dataclass(frozen=True)
class Page:
    """All that a page says."""

    experiment: Experiment
    provenance: Provenance
    claims: ClaimsFile
    summary: ShownSummary
    pictures: tuple[Picture, ...]
    networks: Networks
    utilisation: str
    """How much relays were used in the baseline."""
    experiment_yaml: str
    patches: Mapping[str, str]
    """The text of each patch that ``tors:`` names, and what a commit changes, by what it is."""
    overrides: Mapping[str, str]

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """The tables of the summary, but for those of claims, which the page lays out itself."""
        shown = self.summary.tables.items()
        return tuple(table for name, tables in shown if name != CLAIMS.name for table in tables)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before anything else on the page is believed."""
        drift = [f"{DRIFT_NOTE} {' '.join(self.claims.drift)}"] if self.claims.drift else []
        return (*filter(None, [self.networks.overload]), *drift)

    @property
    def about(self) -> str:
        """What the page is about, in a few words: the change, or the name of the experiment."""
        return ", ".join(self.experiment.report.names.values()) or self.provenance.experiment

    @cached_property
    def comparison(self) -> Comparison | None:
        """What the verdicts on a change say together; None for an experiment with other claims."""
        asked = claims_of(self.experiment)
        return comparison(self.claims, asked) if is_comparison(asked) else None


def gather(
    summaries: Path,
    figures: Path,
    experiment_file: Path,
    networks: Sequence[Path],
    settings: Mapping[str, object] | None = None,
) -> Page:
    """What a page says about the plan of these folders, whose claims were judged with ``settings``;
    InputError when a file is missing or damaged, or they are not all of one plan."""
    experiment = load_experiment(experiment_file, settings)
    provenance = parse_provenance(origin_of(read_plan(summaries)), summaries / PLAN_FILE)
    if experiment.name != provenance.experiment:
        problem, accepted = "is another experiment", provenance.experiment
        raise InputError(problem, file=experiment_file, value=experiment.name, accepted=accepted)
    claims = read_claims(summaries)
    variants = [", ".join(variant.values()) for variant in provenance.variants()]
    of_variants = f" of {len(variants)} variants: {'; '.join(variants)}"
    return Page(
        experiment=experiment,
        provenance=provenance,
        claims=claims,
        summary=read_shown_summary(summaries),
        pictures=tuple(read_picture(figures / f"{name}.png", of_variants) for name in experiment.figures),
        networks=describe_networks(networks, provenance, experiment.traffic),
        utilisation=_utilisation(summaries, claims.baseline),
        experiment_yaml=portable_experiment(experiment_file).text,
        patches={**_patches(experiment), **dict(_changes(experiment.tors, claims.baseline))},
        overrides=repeat_overrides(provenance, experiment, settings or {}, public_file(summaries)),
    )


def read_picture(file: Path, what: str = "") -> Picture:
    """The figure in ``file``; ``what`` goes on after its title. InputError when it is missing or no PNG."""
    content = read_bytes(file, MOST_PICTURE_BYTES, "no such file: draw the figures of the plan first")
    try:
        with Image.open(io.BytesIO(content), formats=("PNG",)) as image:
            image.load()
            width, height = (round(side * CSS_PIXELS_PER_INCH / DOTS_PER_INCH) for side in image.size)
            texts = {key: str(text) for key, text in image.info.items()}
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise InputError("is no whole PNG", file=file) from error
    title = texts.get("Title", file.stem)
    alternative = f"{title}{what}. {texts.get('Description', '')}"
    address = f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"
    return Picture(file.stem, title, texts.get("Comment", ""), alternative, address, width, height)


def render(page: Page) -> str:
    """The HTML of ``page``."""
    environment = Environment(
        loader=PackageLoader("torsweep.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    engines = [one.engine for one in sources_of(page.provenance)]
    environment.filters |= {
        "confidence": confidence_text,
        "evidence": evidence_rows,
        "grouped": by_claim,
        "networks": network_rows,
        "slug": _slug,
    }
    return environment.get_template("report.html.j2").render(
        page=page,
        signature=SIGNATURE,
        version=__version__,
        caution=" ".join(dict.fromkeys(find_engine(each).caution for each in engines)).strip(),
        real_time=[each for each in engines if find_engine(each).real_time],
        facts=_facts(page),
        runs=_runs(page.provenance),
        place=repeat_place(page.experiment),
        command=repeat_command(page.overrides, page.provenance.experiment),
        measures_header=MEASURES_HEADER,
        networks_header=NETWORKS_HEADER,
    )


def evidence_rows(claim: Verdict) -> list[Row]:
    """A row for each comparison that ``claim`` rests on."""
    return [
        (item.statement, interval_text(item.interval).replace("-", "−"), item.required, item.shows)
        for item in claim.comparisons
    ]


def by_claim(verdicts: Iterable[Verdict]) -> list[list[Verdict]]:
    """The verdicts on each claim: by statistic, clock and setting."""
    return [list(of_one) for _, of_one in groupby(verdicts, key=lambda verdict: verdict.claim)]


NETWORKS_HEADER = ("measure", "change in each network", "far from the others")


def network_rows(found: Comparison) -> list[Row]:
    """Each measure network by network, and the seeds of those that are far from the others."""
    return [
        (
            row.cells[0],
            ", ".join(f"{seed}: {row.amount_text(value)}" for seed, value in row.by_network.items()),
            ", ".join(map(str, row.far_out)) or "–",
        )
        for row in found.rows
        if row.by_network
    ]


def confidence_text(claim: Verdict) -> str:
    """The confidence of the intervals of ``claim``: ``95 %``, or all that occur."""
    levels = dict.fromkeys(f"{item.interval.confidence * 100:.4g} %" for item in claim.comparisons)
    return ", ".join(levels)


def _facts(page: Page) -> Facts:
    """Facts on what was run that the opening of the summary does not say, as pairs of name and value."""
    common = "drawn from the network's seed, the same in every variant of a network"
    return (
        *([] if page.experiment.pairing == FREE else [("Paths of circuits", common)]),
        *((f"Knob: {knob}", ", ".join(levels)) for knob, levels in page.provenance.knobs.items()),
        *([("Utilisation in the baseline", page.utilisation)] if page.utilisation else []),
        ("Runs", str(len(page.provenance.runs))),
    )


def _utilisation(summaries: Path, baseline: Mapping[str, str]) -> str:
    """How much relays were used, of all and by position; empty where that was not measured."""
    if not (summaries / MEASURE_MEANS.file).is_file():
        return ""
    rows = MEASURE_MEANS.read(summaries, baseline).filter(measure="utilisation_total")
    used = []
    for row in at_levels(rows, baseline).fill_null(float("nan")).iter_rows(named=True):
        mean = Interval(row["mean"], row["mean_low"], row["mean_high"], row["networks"], CONFIDENCE)
        used.append(f"{row['group']} {interval_text(mean)}")
    return "; ".join(used)


def _runs(provenance: Provenance) -> list[Row]:
    return [
        (f"{', '.join(run['variant'].values())}, seed {run['seed']}", str(run["run_sha256"]))
        for run in provenance.runs
    ]


def _slug(title: str) -> str:
    return "-".join("".join(each if each.isalnum() else " " for each in title.lower()).split())


def _patches(experiment: Experiment) -> dict[str, str]:
    return {
        f"Patch {patch.name}, on the tor {name}": read_bytes(patch, MOST_PATCH_BYTES).decode(errors="replace")
        for name, tor in experiment.tors.items()
        for patch in tor.patches
    }


def _changes(tors: Tors, baseline: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What the commit of each tor changes of the baseline's, or of the one at which it left the main branch,
    where its repository is still there."""
    commits = {
        name: find_commit(tor.git, tor.revision)
        for name, tor in tors.items()
        if tor.git is not None and is_repository(tor.git)
    }
    against = commits.get(baseline.get("tor", ""))
    for name, commit in commits.items():
        left = left_main(commit.repository, commit.commit)
        base = find_commit(commit.repository, left[1]) if left else None
        if against is not None and against.repository == commit.repository:
            base = against
        if base is None or base.commit == commit.commit:
            continue
        text = difference(base, commit)
        command = f"git diff {base.commit} {commit.commit}"
        yield f"What the tor {name} changes", text if len(text) <= MOST_SHOWN_CHANGE else command
