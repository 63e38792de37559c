"""A comparison to read: tables in Markdown, with what was measured and how.

In: the rows of a comparison, what it was made with. Out: text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torsweep.loopback.comparing import Row
from torsweep.loopback.plan import MOST_COST, NOT_TRACED, REPORT_NS, Plan

MOST_BESIDE = 0.1
"""If other programs take more cores than this, the text tells the reader to measure again."""

_Column = tuple[str, str, float, str]
"""Header, name in the row, factor, format."""

_COLUMNS: Mapping[str, tuple[_Column, ...]] = {
    "clocks": (
        ("CPU s a GB", "cpu_s_per_gb", 1, ".2f"),
        ("against the first", "cpu_s_per_gb_relative", 100, "+.1f %"),
        ("million readings a GB", "million_readings_per_gb", 1, ".1f"),
        ("ns a reading, bench", "bench_ns_per_coarse_reading", 1, ".0f"),
        ("share in readings", "share_in_readings", 100, ".1f %"),
        ("added ns a reading, seen", "added_ns_per_reading", 1, ".0f"),
    ),
    "tracing": (
        ("CPU s a GB", "cpu_s_per_gb", 1, ".2f"),
        ("against off", "cpu_s_per_gb_relative", 100, "+.1f %"),
        ("small request, µs", "small_us", 1, ".0f"),
        ("against off", "small_us_relative", 100, "+.1f %"),
        ("MB/s", "megabytes_per_s", 1, ".1f"),
        ("against off", "megabytes_per_s_relative", 100, "+.1f %"),
    ),
    "quantum": (
        ("read, of the rate", "read_of_rate", 1, ".3f"),
        ("small request, ms", "small_us", 1e-3, ".0f"),
        ("against the first", "small_us_relative", 100, "+.1f %"),
    ),
}


def as_markdown(plan: Plan, rows: Sequence[Row], document: Mapping[str, Any]) -> str:
    """The comparison of ``plan`` with how it was made; intervals are 95 %, over rounds."""
    columns = _COLUMNS[plan.name]
    lines = [
        f"tor {document['tor']['version']} with the patch series {document['tor']['series_sha256'][:12]};"
        f" {document['rounds']} rounds, each relay of which has processes of its own, two turns of"
        f" {document['lengths']['load_s']:g} s each. Means and 95 % intervals over rounds.",
        "",
        f"Others took {document['cores_taken_beside']:.2f} cores meanwhile"
        + (": measure again on a quiet machine." if document["cores_taken_beside"] > MOST_BESIDE else "."),
        "",
        _line(["relay", "variant", *(column[0] for column in columns)]),
        "|" + "---|" * (2 + len(columns)),
    ]
    lines += [
        _line([row["position"], row["variant"], *(_cell(row, *column[1:]) for column in columns)])
        for row in rows
    ]
    return "\n".join([*lines, "", *_sentences(plan, rows), ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(row: Row, name: str, factor: float, form: str) -> str:
    value, low, high = (row.get(key) for key in (name, f"{name}_low", f"{name}_high"))
    if value is None:
        return ""
    form, _, unit = form.partition(" ")
    text = format(value * factor, form)
    if low is not None and high is not None:
        text += f" [{low * factor:{form}}, {high * factor:{form}}]"
    return f"{text} {unit}".strip()


def _sentences(plan: Plan, rows: Sequence[Row]) -> list[str]:
    if plan.name == "clocks":
        calls = plan.variants[-1].calls
        return [
            f"`{plan.variants[-1].name}` makes {calls} system calls for one reading, which last as long as"
            f" the report's clock, {REPORT_NS / 1000:g} µs: a slow clock that was made, not found."
        ]
    if plan.name != "tracing":
        return []
    traced = [row for row in rows if row["position"] == "chain" and row["variant"] != NOT_TRACED]
    return [
        f"Tracing {row['variant'].replace('_', ' ')} costs at most {MOST_COST:.0%} of {what}:"
        f" {_verdict(row, name)}."
        for row in traced
        for what, name in (("latency", "small_us_relative"), ("CPU", "cpu_s_per_gb_relative"))
    ]


def _verdict(row: Row, name: str) -> str:
    """Whether the interval is below the bound, above, or neither."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return "not known, of one round"
    if high <= MOST_COST:
        return "holds"
    return "fails" if low > MOST_COST else "inconclusive"
