"""Two imports side by side: ``torsweep compare --candidate import:my-branch --baseline import:vanilla``.

In: two imports (:mod:`torsweep.runsets.imported`), the warm-up, and a file of public Tor where there is one.
Out: tables, summary and figures below ``results/``, as of an experiment ``imports`` whose knob is ``import``,
and the verdict on a terminal. Nothing is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
from rich.console import Console

from torsweep.config.experiment import Duration
from torsweep.config.reading import Section, validate
from torsweep.config.replicates import NO_DIFFERENCE_BELOW
from torsweep.config.traffic import GROUPS, PERF_KINDS
from torsweep.errors import InputError
from torsweep.pipeline.figures import draw_figure
from torsweep.runsets.collect import collect
from torsweep.runsets.imported import IMPORTED, Import, import_folder, open_import
from torsweep.runsets.plan_tables import IMPORT, PlanTables
from torsweep.stats.claims.change import EVERYONE, AnyChange
from torsweep.stats.comparison_rows import who
from torsweep.stats.statistic import Analysis
from torsweep.stats.streams.incidence import REQUEST
from torsweep.stats.summarize import summary_of, write_summary
from torsweep.study.answer import print_verdict
from torsweep.units import counted

USUAL_WARM_UP = "20 min"
"""What tornettools leaves out."""

FIGURES = ("perf_ttfb_cdf", "perf_ttlb_cdf")


class _Options(Section):
    warm_up: Duration


def compare_imports(
    candidate: str, baseline: str, warm_up: str | None, tor_metrics: Path | None, console: Console
) -> Path:
    """Collect, summarize and draw two imports, print the verdict, and return the folder of the summary.

    Raises InputError for a warm-up that is none or leaves an import without downloads, and for a file
    ``tor_metrics`` that is no measurement of the public network.
    """
    warm_up = warm_up or USUAL_WARM_UP
    warm_up_ns = validate(_Options, {"warm_up": warm_up}, None).warm_up
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
    claims = _claims(replace(opened, kinds=PERF_KINDS), [each.name for each in both], warm_up)
    levels: dict[str, str] = {IMPORT: both[0].name}
    analysis = Analysis(opened, levels, NO_DIFFERENCE_BELOW, claims, public=tor_metrics)
    write_summary(summary_of(analysis), summary)
    for figure in FIGURES:
        draw_figure(figure, summary, figures / figure)
    print_verdict(summary, claims, f"{both[1].name}, against {both[0].name}", console, _pairing(both))
    return summary


def _claims(tables: PlanTables, names: Sequence[str], cut: str) -> list[AnyChange]:
    """That the medians from the request have changed, for each size that both imports have downloaded."""
    of_imports = tables.streams(["kind"]).group_by(IMPORT).agg(pl.col("kind").unique())
    kinds = {name: set(of_kinds) for name, of_kinds in of_imports.iter_rows()}
    for name in names:
        if name not in kinds:
            problem = f"leaves no download of a perf client in the import {name}"
            raise InputError(problem, key="--warm-up", value=cut, accepted="a shorter time")
    there = [
        group
        for group, of_group in GROUPS.items()
        if group == EVERYONE or all(kinds[name].intersection(of_group) for name in names)
    ]
    statistics = ("median", "mean", "p90")
    common = {"knob": IMPORT, "test": "change", "clock": REQUEST, "statistics": statistics}
    return [
        AnyChange.model_validate({**common, "id": group, "text": f"{who(group)} differ.", "kind": group})
        for group in there
    ]


def _pairing(both: Sequence[Import]) -> str:
    """How the networks of two imports are compared (:func:`torsweep.stats.streams.differences.paired`)."""
    one, other = ({each.network_of(run) for run in each.runs} for each in both)
    if len(one & other) < 2 and one != other:
        return f"{len(other)} against {counted(len(one), 'network')} as independent samples (Welch)"
    left = len(one ^ other)
    rest = f"; {left} that only one of them has are left out" if left else ""
    return f"paired on {counted(len(one & other), 'network')} that both have{rest}"
