"""A comparison as Markdown.

In: a :class:`~torsweep.compare.comparison.Comparison`. Out: the text of comparison.md, with a section for
each table that the comparison has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from torsweep.compare.comparison import Comparison, Origin
from torsweep.compare.contrasts import NO_CONTRAST, SAME, SIZE_FACTOR
from torsweep.compare.distances import MARGIN, PROBABILITIES, UNKNOWN, WITHIN
from torsweep.compare.streams import STARVED_NUMBERS
from torsweep.compare.verdicts import DIFFERS, OPEN, SURVIVES
from torsweep.stats.claims.judging import NO_DIFFERENCE
from torsweep.stats.text import SHOWN_METRICS, duration_text, markdown_table, networks_text

NOTHING = "–"
_EMPHASISED = (SURVIVES, DIFFERS)
_STARVED_NAMES = ("starved", "Jain's index", "first complete, s", "all complete, s")


def comparison_text(comparison: Comparison) -> str:
    """The whole of comparison.md."""
    origin, tables = comparison.origin, comparison.tables
    parts = [
        f"# {origin.experiment}, plan {origin.plan}, era {origin.era}: {title(origin)}",
        "\n".join(f"- {count}" for count in counts(comparison)) or "Nothing can be compared.",
        _sources(origin),
    ]
    for name, write in _SECTIONS.items():
        if name in tables:
            parts.append(write(comparison, tables[name]))
    return "\n\n".join(parts) + "\n"


def title(origin: Origin) -> str:
    """``cellsim, shadow against emulation``."""
    reference, *others = (one.label for one in origin.sources)
    return f"{', '.join(others)} against {reference}"


def counts(comparison: Comparison) -> Iterator[str]:
    """How many gaps are within the aim, contrasts agree, claims and contrasts survive, in a sentence each."""
    tables = comparison.tables
    if "gaps" in tables:
        for (source,), own in tables["gaps"].group_by(["source"], maintain_order=True):
            judged = own.filter(pl.col("verdict") != UNKNOWN)
            within = (judged["verdict"] == WITHIN).sum()
            unknown = f", of {len(own)}" if len(judged) < len(own) else ""
            yield f"{source}: {within} of {len(judged)} gaps that can be judged{unknown} are within the aim."
    if "contrasts" in tables:
        known = tables["contrasts"].filter(pl.col("agrees").is_not_null())
        for (source,), own in known.group_by(["source"], maintain_order=True):
            judged = own.filter(pl.col("agrees") != NO_CONTRAST)
            same = (judged["agrees"] == SAME).sum()
            yield f"{source}: {same} of {len(judged)} contrasts agree with the reference's."
    for name, keys in (("verdicts", ["claim", "setting"]), ("contrasts", CONTRAST_KEYS)):
        if name in tables:
            said = tables[name].unique(keys, maintain_order=True)["together"].to_list()
            parts = ", ".join(f"{said.count(one)} {one}" for one in (SURVIVES, DIFFERS, OPEN))
            yield f"Of {len(said)} {'claims' if name == 'verdicts' else name}: {parts}."


CONTRAST_KEYS = ["kind", "metric", "knob", "at", "from", "to"]
"""What tells contrasts apart."""


def same_networks(origin: Origin) -> str:
    """Whether the sources have run on the same networks, in a sentence."""
    if len({(one.network, one.seeds) for one in origin.sources}) == 1:
        return "All sources are on the same networks."
    return "The sources are not all on the same networks; configuration and seed say which are the same."


def _sources(origin: Origin) -> str:
    rows = [
        [
            one.label,
            f"{one.engine} {one.engine_version}" + (f" ({one.transport})" if one.transport else ""),
            f"{one.network}, {networks_text(one.seeds)}",
            f"{duration_text(one.warm_up_ns)} + {duration_text(one.duration_ns - one.warm_up_ns)}",
            str(one.runs),
            str(one.repeats),
        ]
        for one in origin.sources
    ]
    header = ["source", "engine", "networks", "warm-up + measured", "runs", "repeats"]
    note = "The first source is the reference. A repeat is the run with another seed: they differ by chance."
    return f"{markdown_table('Sources', header, rows)}\n\n{note} {same_networks(origin)}"


def _gaps(comparison: Comparison, table: pl.DataFrame) -> str:
    rows = [
        [
            row["source"],
            _time(row),
            _variant(row, comparison.origin),
            str(row["networks"]),
            _number(row["ks"]),
            _number(row["floor"]) + ("" if row["floor_networks"] or row["floor"] is None else " *"),
            _number(row["own_floor"]),
            row["verdict"] if row["verdict"] == WITHIN else f"**{row['verdict']}**",
            *(_number(row[f"{name}_ratio"], 2) for name in PROBABILITIES),
        ]
        for row in table.iter_rows(named=True)
    ]
    header = ["source", "time", "variant", "networks", "KS", "floor", "own floor", "verdict", *PROBABILITIES]
    note = (
        "KS: the greatest gap between the curves of a source and of the reference, a mean over networks. "
        "Floor: the reference against itself with another seed, on the same network; own floor: the source "
        f"against itself. The aim is the floor + {MARGIN:g}. p10 to p90: quantiles / the reference's."
    )
    if any(row[5].endswith("*") for row in rows):
        note += " \\*: the mean of the variants that were repeated."
    if table["floor"].null_count():
        note += " Where the reference was not repeated there is no floor to judge by."
    return f"{markdown_table('Gaps between the curves', header, rows)}\n\n{note}"


def _contrasts(comparison: Comparison, table: pl.DataFrame) -> str:
    labels = [one.label for one in comparison.origin.sources]
    rows = []
    for _, own in table.group_by(CONTRAST_KEYS, maintain_order=True):
        first, by_source = own.row(0, named=True), {row["source"]: row for row in own.iter_rows(named=True)}
        ratios = [ratio_text(by_source[label]) for label in labels]
        rows.append([_time(first), contrast_name(first), *ratios, _said(first["together"])])
    margin = 100 * comparison.origin.margin
    note = (
        "Ratios of medians of two variants that differ in one knob: geometric means over the networks (their "
        "number in brackets), with 95 % t-intervals of the logarithms, paired by network. Together: "
        f"{SURVIVES} where two sources or more show the same (times are longer, shorter, or there is "
        f"{NO_DIFFERENCE}, within ±{margin:g} %), {DIFFERS} where two show something else, "
        f"else {OPEN}. No allowance is made for looking at many contrasts."
    )
    text = markdown_table("Contrasts", ["time", "from → to", *labels, "together"], rows) + f"\n\n{note}"
    return text + _agreements(table.filter(pl.col("agrees").is_not_null()))


def _agreements(table: pl.DataFrame) -> str:
    if table.is_empty():
        return ""
    rows = [
        [
            row["source"],
            _time(row),
            contrast_name(row),
            f"× {row['reference_ratio']:.2f}",
            f"× {row['shared_ratio']:.2f}",
            _interval(row, ("relative", "relative_low", "relative_high"), "shared"),
            _number(row["size"], 2),
            NOTHING if row["noise"] is None else f"×/÷ {row['noise']:.2f}",
            row["agrees"] if row["agrees"] in (SAME, NO_CONTRAST) else f"**{row['agrees']}**",
        ]
        for row in table.iter_rows(named=True)
    ]
    names = ["reference", "its own", "own / reference", "size", "noise", "agrees"]
    note = (
        "On the networks that both have run. Size: the logarithm / the reference's; contrasts agree where "
        f"signs are the same and sizes within {SIZE_FACTOR:g}×. Noise: the factor by which another seed "
        "alone changes a source's contrast (root mean square, of the mean over networks)."
    )
    header = ["source", "time", "from → to", *names]
    return f"\n\n{markdown_table('Contrasts against the reference', header, rows)}\n\n{note}"


def _verdicts(comparison: Comparison, table: pl.DataFrame) -> str:
    rows = []
    for _, own in table.group_by(["claim", "setting"], maintain_order=True):
        first = own.row(0, named=True)
        verdicts = [f"{row['verdict']} ({row['networks']})" for row in own.iter_rows(named=True)]
        text = f"{first['text']} ({first['setting']})" if first["setting"] else first["text"]
        rows.append([text, *verdicts, _said(first["together"])])
    header = ["claim", *(one.label for one in comparison.origin.sources), "together"]
    note = (
        "In brackets: how many networks have all of the plan's variants, on which the verdict rests. "
        f"Together: {SURVIVES} where two sources or more decide a claim, all alike, {DIFFERS} where "
        f"they decide it differently, else {OPEN}."
    )
    return f"{markdown_table('Claims', header, rows)}\n\n{note}"


def _starved(comparison: Comparison, table: pl.DataFrame) -> str:
    rows = [
        [_variant(row, comparison.origin), row["source"]]
        + [_interval(row, (name, f"{name}_low", f"{name}_high")) for name in STARVED_NUMBERS]
        for row in table.iter_rows(named=True)
    ]
    networks = table["networks"].to_list()[0]
    note = f"Means over {networks} networks, with 95 % t-intervals where these differ."
    return f"{markdown_table('Who starved', ['variant', 'source', *_STARVED_NAMES], rows)}\n\n{note}"


def _streams(comparison: Comparison, table: pl.DataFrame) -> str:
    numbers = sorted(table["opened"].unique())
    rows = []
    for _, own in table.group_by([*comparison.origin.knobs, "source"], maintain_order=True):
        first, times = own.row(0, named=True), dict(own.select("opened", "completed_s").iter_rows())
        texts = [_number(times.get(number), 1) if number in times else "" for number in numbers]
        rows.append([_variant(first, comparison.origin), first["source"], *texts])
    title = "When each stream was complete, s, in order of opening"
    return markdown_table(title, ["variant", "source", *map(str, numbers)], rows)


_SECTIONS = {
    "gaps": _gaps,
    "verdicts": _verdicts,
    "contrasts": _contrasts,
    "starved": _starved,
    "stream_means": _streams,
}


def contrast_name(row: Mapping[str, Any]) -> str:
    """``1000ms → 10ms, ewma``."""
    return f"{row['from']} → {row['to']}" + (f", {row['at']}" if row["at"] else "")


def ratio_text(row: Mapping[str, Any]) -> str:
    """``× 0.96 [0.67, 1.37] (3)``: ratio, interval, networks; a dash where there is none."""
    return _interval(row, ("ratio", "low", "high"), "networks")


def _interval(row: Mapping[str, Any], names: Sequence[str], count: str = "") -> str:
    mean, low, high = (row[name] for name in names)
    if mean is None:
        return NOTHING
    bounds = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return ("× " if count else "") + f"{mean:.2f}{bounds}" + (f" ({row[count]})" if count else "")


def _time(row: Mapping[str, Any]) -> str:
    return f"{row['kind']}, {SHOWN_METRICS[row['metric']]}"


def _variant(row: Mapping[str, Any], origin: Origin) -> str:
    return ", ".join(str(row[knob]) for knob in origin.knobs)


def _number(value: float | None, digits: int = 3) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _said(together: str) -> str:
    return f"**{together}**" if together in _EMPHASISED else together
