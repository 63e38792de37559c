"""Which findings survive, as sections of Markdown: those of summary.md and of findings.md.

In: a :class:`~torsweep.stats.findings_file.FindingsFile`. Out: text.
"""

from __future__ import annotations

from torsweep.stats.claims.judging import NO_DIFFERENCE
from torsweep.stats.findings_file import (
    DIFFERS,
    OPEN,
    SURVIVES,
    ContrastUnderTransports,
    FindingsFile,
    TransportContrast,
)
from torsweep.stats.text import SHOWN_METRICS, duration_text, markdown_table, networks_text

TRANSPORTS_TITLE = "Which findings survive: the transports"
VERDICTS_TITLE = "Which findings survive: verdicts"
CONTRASTS_TITLE = "Which findings survive: contrasts"

_EMPHASISED = (SURVIVES, DIFFERS)


def findings_text(findings: FindingsFile) -> str:
    """The whole of findings.md."""
    title = f"# {findings.experiment}, plan {findings.plan}, era {findings.era}: which findings survive"
    return "\n\n".join([title, counts_text(findings), *findings_sections(findings)]) + "\n"


def counts_text(findings: FindingsFile) -> str:
    """How many claims and contrasts survive, differ and are open, in a sentence each."""
    parts = []
    for name, rows in (("claims", findings.claims), ("contrasts", findings.contrasts)):
        if rows:
            said = [row.together for row in rows]
            counts = ", ".join(f"{said.count(one)} {one}" for one in (SURVIVES, DIFFERS, OPEN))
            parts.append(f"Of {len(rows)} {name}: {counts}.")
    return " ".join(parts) if parts else "No transport has two variants that can be compared."


def findings_sections(findings: FindingsFile) -> list[str]:
    """The sections of a summary: the transports, the verdicts, the contrasts; none of what has no rows."""
    sections = [_transports(findings)] if findings.transports else []
    if findings.claims:
        sections.append(_verdicts(findings))
    if findings.contrasts:
        sections.append(_contrasts(findings))
    return sections


def _transports(findings: FindingsFile) -> str:
    rows = [
        [
            one.transport,
            f"{one.engine} {one.engine_version}",
            one.queue or "its own",
            f"{one.network}, {networks_text(one.seeds)}",
            f"{duration_text(one.warm_up_ns)} + {duration_text(one.duration_ns - one.warm_up_ns)}",
            str(one.runs),
            str(one.left_out),
        ]
        for one in findings.transports
    ]
    header = ["transport", "engine", "queue before down-links", "networks", "warm-up + measured"]
    table = markdown_table(TRANSPORTS_TITLE, [*header, "runs", "left out"], rows)
    left_out = "Left out: runs of other versions, durations or settings than most of the transport's."
    return f"{table}\n\n{networks_note(findings)} {left_out}"


def networks_note(findings: FindingsFile) -> str:
    """Whether the transports have run on the same networks, in a sentence."""
    if findings.same_networks:
        return "All transports are on the same networks."
    if not findings.consistent_networks:
        return (
            "The transports are not on the same networks: some of the same configuration and seed were "
            "sampled from other data or by another version."
        )
    return "The transports are not all on the same networks; those of the same configuration and seed are."


def _verdicts(findings: FindingsFile) -> str:
    rows = [
        [
            f"{claim.text} ({claim.setting})" if claim.setting else claim.text,
            *(f"{one.verdict} ({one.networks})" for one in claim.verdicts),
            _said(claim.together),
        ]
        for claim in findings.claims
    ]
    header = ["claim", *(one.transport for one in findings.transports), "together"]
    note = (
        "In brackets: how many networks have all of the plan's variants, on which the verdict rests. "
        f"Together: {SURVIVES} where two transports or more decide a claim and all alike, {DIFFERS} where "
        f"they decide it differently, else {OPEN}."
    )
    return f"{markdown_table(VERDICTS_TITLE, header, rows)}\n\n{note}"


def _contrasts(findings: FindingsFile) -> str:
    rows = [
        [
            f"{row.kind}, {SHOWN_METRICS[row.metric]}",
            _pair(row),
            *(ratio_text(one) for one in row.values),
            _said(row.together),
        ]
        for row in findings.contrasts
    ]
    header = ["time", "from → to", *(one.transport for one in findings.transports), "together"]
    note = (
        "Ratios of medians of two variants one knob apart: geometric means over the networks, whose number "
        "stands in brackets, with 95 % t-intervals of the logarithms, paired by network. Together: "
        f"{SURVIVES} where two transports or more show the same (times are longer, shorter, or there is "
        f"{NO_DIFFERENCE}, within ±{100 * findings.margin:g} %), {DIFFERS} where two show something else, "
        f"else {OPEN}. No allowance is made for looking at many contrasts."
    )
    return f"{markdown_table(CONTRASTS_TITLE, header, rows)}\n\n{note}"


def _pair(row: ContrastUnderTransports) -> str:
    return f"{row.from_level} → {row.to_level}" + (f", {row.at}" if row.at else "")


def ratio_text(one: TransportContrast) -> str:
    """``× 0.96 [0.67, 1.37] (3)``: ratio, interval, networks; a dash where there is none."""
    if one.ratio is None:
        return "–"
    if one.low is None or one.high is None:
        return f"× {one.ratio:.2f} ({one.networks})"
    return f"× {one.ratio:.2f} [{one.low:.2f}, {one.high:.2f}] ({one.networks})"


def _said(together: str) -> str:
    return f"**{together}**" if together in _EMPHASISED else together
