"""Two imports side by side: ``torsweep compare --candidate import:my-branch --baseline import:vanilla``.

In: two imports (:mod:`torsweep.runsets.imported`), the warm-up, and a file of public Tor where there is one.
Out: tables, summary and figures below ``results/``, in the places of a plan of the experiment ``imports``;
and the table of a comparison on a terminal. Nothing is run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from rich.console import Console

from torsweep.config.experiment import Duration
from torsweep.config.reading import Section, validate
from torsweep.errors import InputError
from torsweep.pipeline.figures import draw_figure
from torsweep.runsets.cli import import_folder
from torsweep.runsets.collect import collect
from torsweep.runsets.imported import IMPORTED, open_import
from torsweep.runsets.reading import IMPORT, PlanTables
from torsweep.stats.changes import RELATIVE_MARGIN, TOGETHER, shared_networks
from torsweep.stats.inference.intervals import CONFIDENCE, Interval
from torsweep.stats.statistic import Analysis
from torsweep.stats.summarize import summary_of, write_summary
from torsweep.study.verdict import measures_table

USUAL_WARM_UP = "20 min"
"""What tornettools leaves out."""

FIGURES = ("perf_ttfb_cdf", "perf_ttlb_cdf")


@dataclass(frozen=True)
class ImportsSummary:
    """Where the summary of two imports is, and what it says: ``pairing`` says how networks are compared."""

    folder: Path
    about: str
    pairing: str
    changes: pl.DataFrame


class _Options(Section):
    warm_up: Duration


def compare_imports(
    candidate: str, baseline: str, warm_up: str | None, tor_metrics: Path | None = None
) -> ImportsSummary:
    """Collect, summarize and draw two imports.

    Raises InputError for a warm-up that is none or leaves an import without downloads, and for a file
    ``tor_metrics`` that is no measurement of the public network.
    """
    warm_up_ns = validate(_Options, {"warm_up": warm_up or USUAL_WARM_UP}, None).warm_up
    both = [open_import(import_folder(text.removeprefix("import:"))) for text in (baseline, candidate)]
    if both[0].name == both[1].name:
        accepted = "another --as NAME"
        raise InputError("is the name of both imports", file=both[1].folder, accepted=accepted)
    networks = dict.fromkeys(each.network_of(run) for each in both for run in each.runs)
    numbers = {network: number for number, network in enumerate(networks, start=1)}
    duration_ns = max(run.duration_s for each in both for run in each.runs) * 10**9
    runs = [run for each in both for run in each.open_runs(numbers, warm_up_ns, duration_ns)]
    name = f"{both[1].name}_vs_{both[0].name}"
    tables, summary, figures = (
        Path("results", stage, IMPORTED, name) for stage in ("tables", "summaries", "figures")
    )
    collect(runs, tables, network="tornettools")
    opened = PlanTables.open(tables)
    analysis = Analysis(opened, {IMPORT: both[0].name}, RELATIVE_MARGIN, public=tor_metrics)
    summarized = summary_of(analysis)
    write_summary(summarized, summary)
    for figure in FIGURES:
        draw_figure(figure, summary, figures / figure)
    about = f"{both[1].name}, against {both[0].name}"
    return ImportsSummary(summary, about, shared_networks(analysis)[1], summarized["changes"])


def print_imports(summary: ImportsSummary, console: Console) -> None:
    """Print the table under two lines that say what was compared, and how."""
    console.print(summary.about, summary.pairing, sep="\n")
    rows = []
    for row in summary.changes.iter_rows(named=True):
        mean, low, high = (math.nan if row[name] is None else row[name] for name in ("change", "low", "high"))
        interval = Interval(mean, low, high, row["networks"], row["confidence"])
        rows.append((row["measure"], interval, row["verdict"], ""))
    console.print(measures_table(rows))
    console.print(
        f"Intervals: {100 * TOGETHER:.1f} %, both times of a size together with {100 * CONFIDENCE:.0f} %"
    )
