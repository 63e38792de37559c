"""A summary as Markdown that is also readable as plain text.

In: a :class:`~torsweep.stats.summarize.Summary`, and the sections on other transports. Out: the text of
summary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from torsweep.config.clients import KINDS
from torsweep.config.ways import GROUPS
from torsweep.engines.selection import find_engine
from torsweep.stats.breakdown import METRIC_BYTES
from torsweep.stats.cell_times import ANY, TOTAL
from torsweep.stats.intervals import Interval, median_interval, t_interval
from torsweep.stats.summarize import Summary
from torsweep.tables.reading import Provenance

CLAIMS_TITLE, EVIDENCE_TITLE = "Claims", "What the verdicts rest on"
"""The sections of summary.md that say what claims.json says."""

SHOWN_METRICS = {"ttfb": "first byte", "ttlb": "last byte"}


def engine_text(provenance: Provenance) -> str:
    """Engine and version; a model is called one, so that nobody takes its numbers for tor's."""
    kind = " (a model of tor)" if not find_engine(provenance.engine).runs_tor else ""
    return f"{provenance.engine} {provenance.engine_version}{kind}"


def networks_text(seeds: Sequence[int]) -> str:
    """``8 networks (seeds 1–8)``."""
    run = len(seeds) > 1 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    listed = f"{seeds[0]}–{seeds[-1]}" if run else ", ".join(map(str, seeds))
    return (
        f"{len(seeds)} network{'s' if len(seeds) > 1 else ''} (seed{'s' if len(seeds) > 1 else ''} {listed})"
    )


def duration_text(nanoseconds: int) -> str:
    """``3 min``, or seconds where it is no whole number of minutes."""
    seconds = nanoseconds / 1e9
    return f"{seconds / 60:g} min" if seconds and seconds % 60 == 0 else f"{seconds:g} s"


def summary_text(summary: Summary, other_transports: Sequence[str] = ()) -> str:
    """The whole of summary.md; ``other_transports`` stands below the claims."""
    parts = [
        _heading(summary),
        _claims(summary),
        *other_transports,
        _fairness(summary),
        _cells(summary),
        _breakdown(summary),
        _medians(summary, "median_s", "Medians over downloads, seconds"),
        _medians(summary, "client_median_s", "Medians over clients of each client's median, seconds"),
        _differences(summary),
        _outcomes(summary),
        _stationarity(summary),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _heading(summary: Summary) -> str:
    provenance = summary.provenance
    measured = duration_text(provenance.duration_ns - provenance.warm_up_ns)
    warm_up = duration_text(provenance.warm_up_ns)
    cut = f"downloads that started in the first {warm_up} are cut, then " if provenance.warm_up_ns else ""
    lines = [
        f"# {provenance.experiment}, plan {provenance.plan}: summary",
        "",
        f"Engine {engine_text(provenance)}; era {provenance.era}; network {provenance.network}, "
        f"{networks_text(provenance.seeds)}; {cut}{measured} measured. "
        f"Baseline: {_variant_text(summary.baseline)}.",
    ]
    if len(provenance.seeds) == 1:
        lines += ["", "One network: there are no intervals, and no claim can be decided."]
    else:
        lines += ["", f"Intervals are 95 % t-intervals over {len(provenance.seeds)} networks."]
    if summary.design.looks:
        lines[-1] += f" {_growth(summary)}"
    return "\n".join(lines)


def _growth(summary: Summary) -> str:
    looks, networks = summary.design.looks, len(summary.provenance.seeds)
    taken = ", ".join(str(look) for look in looks if look <= networks)
    open_claims = any(verdict.open for verdict in summary.verdicts)
    why = "the budget was spent" if open_claims else "no claim was open"
    return (
        f"Networks were added in batches until {why}, with looks at {taken} of at most {looks[-1]}: the "
        "intervals of the claims are paid for all looks, so that they cover as often as they say although "
        "the data decided how many networks there are; all others are as if that number had been fixed."
    )


def _claims(summary: Summary) -> str:
    if not summary.verdicts:
        return ""
    rows = []
    for verdict in summary.verdicts:
        where = f" ({verdict.setting})" if verdict.setting else ""
        rows.append([f"{verdict.text}{where}", f"**{verdict.verdict}**", verdict.reason])
    lines = [markdown_table(CLAIMS_TITLE, ["claim", "verdict", "because"], rows), ""]
    details = [
        [verdict.claim, item.statement, _interval(item.interval), item.required, item.shows]
        for verdict in summary.verdicts
        for item in verdict.comparisons
    ]
    header = ["claim", "comparison", "value and interval", "required", "shown"]
    lines.append(markdown_table(EVIDENCE_TITLE, header, details))
    lines += [
        "",
        "Values are relative differences of medians, paired by network, or depths of a stair-step "
        "(r.m.s. deviation of the density that recurs each period), or counts and shares of streams, or "
        "times and shares of cells in a relay.",
    ]
    return "\n".join(lines)


def _fairness(summary: Summary) -> str:
    if summary.clients.is_empty():
        return ""
    columns = {
        "opened": "streams",
        "starved": "starved",
        "jain": "Jain's index",
        "first_completed_s": "first complete, s",
        "all_completed_s": "all complete, s",
    }
    rows = []
    for variant in summary.provenance.variants():
        own = summary.clients.filter(
            *(pl.col(knob).cast(pl.String) == level for knob, level in variant.items())
        )
        by_network = own.group_by("seed").agg(pl.col(*columns).cast(pl.Float64).mean()).sort("seed")
        cells = [
            _interval(median_interval(by_network[name].fill_null(float("nan")).to_numpy()))
            for name in columns
        ]
        rows.append([_variant_text(variant), *cells])
    title = "Who starved when the first of a client's streams was complete"
    note = (
        "\n\nMedians over networks with exact 95 % intervals, which take six networks. Starved: less than a "
        "quarter of its own bytes by then. Jain's index of the shares by then."
    )
    return markdown_table(title, ["variant", *columns.values()], rows) + note


def _cells(summary: Summary) -> str:
    whole = summary.cells.times.filter(
        pl.col("stage") == TOTAL, *(pl.col(name) == ANY for name in ("direction", "command", "queue"))
    )
    if whole.is_empty():
        return ""
    columns = ("cell_count", "min_ms", "q1_ms", "median_ms", "q3_ms", "mean_ms", "max_ms")
    knobs = list(summary.provenance.knobs)
    rows = [
        [row["host"], _variant_text({knob: row[knob] for knob in knobs}), row["circuits"]]
        + [f"{row[name]:,.0f}" if name == "cell_count" else f"{row[name]:.3g}" for name in columns]
        for row in whole.iter_rows(named=True)
    ]
    title = "How long RELAY cells stay in a relay, milliseconds"
    header = ["relay", "variant", "circuits", "cells", "min", "first quartile", "median", "third quartile"]
    note = (
        "\n\nFrom the input buffer to the kernel; means over networks. Quiet: circuits of no more cells than "
        "the first quartile of cells per circuit; busy: from the third on. By stage: cell_times.csv."
    )
    return markdown_table(title, [*header, "mean", "max"], rows) + note


def _breakdown(summary: Summary) -> str:
    whole = summary.breakdown.runs.filter(pl.col("byte").cast(pl.String) == METRIC_BYTES["ttfb"])
    if whole.is_empty():
        return ""
    knobs = list(summary.provenance.knobs)
    taking = [group for group in GROUPS if whole.filter(pl.col("group") == group)["mean_ms"].sum() > 0]
    rows = []
    for key, own in whole.group_by([*knobs, "kind"], maintain_order=True):
        of_group = dict(own.group_by("group").agg(pl.col("mean_ms").mean()).iter_rows())
        levels = dict(zip(knobs, map(str, key[:-1]), strict=True))
        times = [sum(of_group.values()), *(of_group[group] for group in taking)]
        rows.append([_variant_text(levels), str(key[-1]), *(f"{time / 1e3:.3g}" for time in times)])
    header = ["variant", "clients", "all", *(group.replace("_", " ") for group in taking)]
    note = (
        "\n\nMeans of followed downloads, over networks. The parts of a download add up to its time. By "
        "place and part, and for the last byte: breakdown.csv."
    )
    return markdown_table("What the first byte waits for, seconds", header, rows) + note + _joined(summary)


def _joined(summary: Summary) -> str:
    """How many followed downloads are in the table, and what was found of the clocks behind it."""
    counts = dict(summary.breakdown.counts.group_by("outcome").agg(pl.col("downloads").sum()).iter_rows())
    clocks = summary.breakdown.clocks
    if not counts:
        return ""
    text = (
        f"\n\nOf {counts['followed']} followed downloads, {counts['first_bytes']} with a first byte and "
        f"{counts['whole']} with a last one were joined; why others were not: breakdown_counts.csv."
    )
    if clocks.is_empty():
        return text
    found = dict(clocks.group_by("verdict").len().iter_rows())
    told = ", ".join(f"{found[verdict]} {verdict}" for verdict in sorted(found))
    return f"{text} Clocks of hosts, compared by their messages: {told} (breakdown_clocks.csv)."


def _medians(summary: Summary, estimand: str, title: str) -> str:
    def cell(section: pl.DataFrame) -> str:
        values = section[estimand].cast(pl.Float64).fill_null(float("nan"))
        return _interval(t_interval(values.to_numpy()))

    return _by_variant(summary, summary.medians, title, cell)


def _differences(summary: Summary) -> str:
    chosen = summary.differences.filter(pl.col("estimand") == "median")
    if chosen.is_empty():
        return ""

    def cell(section: pl.DataFrame) -> str:
        if section.is_empty():
            return "baseline"
        row = section.row(0, named=True)
        if row["relative"] is None:
            return "–"
        text = percent_text(row["relative"])
        if row["relative_simultaneous_low"] is None:
            return text
        low, high = row["relative_simultaneous_low"], row["relative_simultaneous_high"]
        return f"{text} [{percent_text(low)}, {percent_text(high)}]"

    title = "Medians against the baseline, paired by network"
    size = chosen["family_size"][0]
    note = f"\n\nSimultaneous 95 % intervals: Bonferroni over the {size} variants of each column."
    return _by_variant(summary, chosen, title, cell) + note


def _by_variant(
    summary: Summary, frame: pl.DataFrame, title: str, cell: Callable[[pl.DataFrame], str]
) -> str:
    """A table with a row for each variant and a column for each kind and metric."""
    kinds = [kind for kind in KINDS if kind in frame["kind"].cast(pl.String).unique().to_list()]
    columns = [(kind, metric) for kind in kinds for metric in SHOWN_METRICS]
    rows = []
    for variant in summary.provenance.variants():
        own = frame.filter(*(pl.col(knob).cast(pl.String) == level for knob, level in variant.items()))
        rows.append(
            [_variant_text(variant)]
            + [
                cell(own.filter(pl.col("kind").cast(pl.String) == kind, pl.col("metric") == metric))
                for kind, metric in columns
            ]
        )
    header = ["variant", *(f"{kind}, {SHOWN_METRICS[metric]}" for kind, metric in columns)]
    return markdown_table(title, header, rows)


def _outcomes(summary: Summary) -> str:
    knobs = list(summary.provenance.knobs)
    rows = [
        [
            str(row["kind"]),
            _variant_text({knob: row[knob] for knob in knobs}),
            *(f"{row[name]:,}" for name in ("downloads", "complete", "failed", "timeout", "unfinished")),
            f"{row['failure_share']:.2%}",
        ]
        for row in summary.outcomes.iter_rows(named=True)
    ]
    header = [
        "kind",
        "variant",
        "downloads",
        "complete",
        "failed",
        "timed out",
        "unfinished",
        "failure share",
    ]
    return markdown_table("Outcomes, all networks together", header, rows)


def _stationarity(summary: Summary) -> str:
    knobs = list(summary.provenance.knobs)
    rows = []
    for row in summary.stationarity.iter_rows(named=True):
        interval = (
            ""
            if row["drift_low"] is None
            else f" [{percent_text(row['drift_low'])}, {percent_text(row['drift_high'])}]"
        )
        drift = "–" if row["drift"] is None else f"{percent_text(row['drift'])}{interval}"
        where = _variant_text({knob: row[knob] for knob in knobs})
        rows.append([f"{row['kind']}, {SHOWN_METRICS[row['metric']]}", where, drift, row["verdict"]])
    title = "Stationarity: change of the median from the first to the last fifth of the measured time"
    return markdown_table(title, ["", "variant", "drift", "verdict"], rows)


def markdown_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table padded so that its columns stand under one another in plain text."""
    cells = [list(header), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join([f"## {title}", "", *lines])


def _variant_text(variant: Mapping[str, object]) -> str:
    return ", ".join(str(level) for level in variant.values())


def _interval(interval: Interval) -> str:
    if interval.mean != interval.mean:
        return "–"
    if not interval.known:
        return f"{interval.mean:.3f}"
    return f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def percent_text(share: float) -> str:
    """A part as a signed percentage: ``+2.5 %``, ``−10.0 %``."""
    return f"{share:+.1%}".replace("%", " %").replace("-", "−")
