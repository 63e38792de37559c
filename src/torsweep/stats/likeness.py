"""What OnionPerf measured of public Tor, beside what perf clients have in a plan's baseline.

In: a file of the public network, and the plan. Out: public.csv, quantiles of public Tor; and a table for the
page: medians of times and rates, here and in public Tor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from torsweep.config.traffic import KIND_NAMES, PERF_KINDS
from torsweep.formats.files import KIB
from torsweep.home import find
from torsweep.runsets.plan_tables import at_levels
from torsweep.runsets.public_tor import USUAL_PUBLIC_TOR, read_public_tor
from torsweep.stats.inference.intervals import log_interval, t_interval
from torsweep.stats.measures import ALL
from torsweep.stats.measures.summary import numbers_of_runs
from torsweep.stats.statistic import Analysis, Statistic, numbers, texts
from torsweep.stats.streams.incidence import REQUEST, TIMES_FROM_REQUEST, metric_at
from torsweep.stats.streams.medians import quantiles_of_runs
from torsweep.stats.streams.perf import perf_analysis
from torsweep.stats.text import TextTable, interval_text

GOODPUTS = (
    ("perf_1mib", "the second half of 1 MiB", "goodput_last_half_median"),
    ("perf_5mib", "the last of 5 MiB", "goodput_last_fifth_median"),
)

_QUARTILES = (0.25, 0.5, 0.75)
_SHARES = np.union1d((np.arange(200) + 0.5) / 200, _QUARTILES)


def public_quantiles(file: Path) -> pl.DataFrame:
    """Quantiles of what ``file`` has of public Tor: the columns of :data:`PUBLIC`; a summary's public.csv as
    it is. The time to the first byte is that to the first byte of the answer."""
    if file.name == PUBLIC.file:
        return PUBLIC.read(file.parent)
    first_byte = metric_at("ttfb", REQUEST).name
    values = read_public_tor(file).with_columns(pl.col("measure").replace("round_trip", first_byte))
    frames = [
        pl.DataFrame({"share": _SHARES, "value": np.quantile(group["value"].to_numpy(), _SHARES)}).select(
            pl.lit(measure).alias("measure"), pl.lit(kind, pl.String).alias("kind"), pl.all()
        )
        for (measure, kind), group in values.group_by("measure", "kind", maintain_order=True)
    ]
    return pl.concat(frames).select(pl.lit(file.name).alias("file"), pl.all())


def _public(analysis: Analysis) -> pl.DataFrame | None:
    if analysis.once(perf_analysis) is None:
        return None
    return public_quantiles(analysis.public or find(USUAL_PUBLIC_TOR))


def tells_of(kind: str) -> pl.Expr:
    """The rows of :data:`PUBLIC` that tell of downloads of ``kind``."""
    return pl.col("kind").is_null() | (pl.col("kind") == kind)


def _in_summary(analysis: Analysis, public: pl.DataFrame) -> list[TextTable]:
    """A row for each quantity that ``public`` has."""
    rows = []
    for what, measure, kind, values in quantities(analysis):
        there = public.filter(tells_of(kind), measure=measure)
        if there.is_empty():
            continue
        unit, interval_of = (KIB, t_interval) if measure == "goodput" else (1, log_interval)
        low, middle, high = np.interp(_QUARTILES, there["share"], there["value"].to_numpy() / unit)
        here = interval_of(values.fill_null(math.nan).to_numpy())
        ratio = f"× {here.mean / middle:.2f}" if math.isfinite(here.mean) else "–"
        rows.append([what, interval_text(here), f"{middle:.3f} [{low:.3f}, {high:.3f}]", ratio])
    here_text = "here: mean over networks [95 % interval]"
    header = ("median", here_text, "public Tor [quartiles]", "here / public Tor")
    note = (
        "Here: perf clients and circuits in runs of the baseline; a dash where there are none, or where half"
        f" of the downloads never completed. Public Tor: {public['file'][0]}, measured by OnionPerf."
    )
    return [TextTable("Beside public Tor", header, rows, [note])]


def quantities(analysis: Analysis) -> Iterator[tuple[str, str, str, pl.Series]]:
    """What perf clients and circuits have in the baseline: what it is, the measure of public Tor, the kind of
    perf client, and a number for each network."""
    perf = analysis.once(perf_analysis)
    assert perf is not None, "a plan without perf clients has no such table"
    medians = at_levels(perf.once(quantiles_of_runs), analysis.baseline)
    times = {measure: f"request to {byte}" for measure, byte in TIMES_FROM_REQUEST.items()}
    for measure, what in {**times, "ttlb": "opening to last byte"}.items():
        for kind in PERF_KINDS:
            own = at_levels(medians, {"metric": measure, "kind": kind})
            yield f"{what} of {KIND_NAMES[kind]}, s", measure, kind, own["median_s"]

    def measured(name: str, group: str) -> pl.Series:
        runs = analysis.once(numbers_of_runs).get((name, group))
        return pl.Series(dtype=pl.Float64) if runs is None else at_levels(runs, analysis.baseline)["value"]

    built = measured("build_time_median", ALL)
    yield "circuit build time, s", "circuit_build_time", PERF_KINDS[0], built
    for size, part, name in GOODPUTS:
        yield f"goodput of {part}, KiB/s", "goodput", size, measured(name, size)


PUBLIC = Statistic(
    "public",
    "a quantile of what OnionPerf measured of public Tor, to stand beside perf clients",
    texts(
        "the file that has it, what was measured, and of which size (null: of any)", "file", "measure", "kind"
    )
    | numbers("share of the values, and the value that they do not exceed (s, bytes/s)", "share", "value"),
    _public,
    in_summary=_in_summary,
    rank=112,
)


def public_file(summaries: Path) -> str | None:
    """The name of the file that public.csv of a summary is of; None where there is none."""
    return PUBLIC.read(summaries)["file"][0] if (summaries / PUBLIC.file).is_file() else None


def own_public_tor(summaries: Path) -> Path | None:
    """public.csv of a summary beside a file of the user's own, to make it again with; None of any other."""
    return summaries / PUBLIC.file if public_file(summaries) not in (None, USUAL_PUBLIC_TOR.name) else None
