"""Which findings survive, as tables of a document.

    python -m bench.findings_rows DIR/findings.json docs/tables/findings_refill

In: the file that ``torsweep results findings`` wrote. Out: ``STEM_verdicts.csv`` with a row for each claim,
where the experiment has any, and ``STEM_contrasts.csv`` with a row for each contrast. Each has a column for
every transport that there can be, with "–" where there is nothing, so that the columns of a document's table
stay when other transports have run. `make docs-tables` then writes them into the document.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from plotting.drawing.palette import level_name
from torsweep.stats.findings_file import FindingsFile, read_findings
from torsweep.stats.findings_text import ratio_text
from torsweep.stats.text import SHOWN_METRICS
from torsweep.storage import write_text

COLUMNS: Mapping[str, str] = {
    "cellsim, tcp=linux": "linux",
    "cellsim, tcp=linux_6_18": "linux_6_18",
    "emulation": "emulation",
    "cellsim, tcp=shadow": "tcp_shadow",
    "shadow": "shadow",
    "shadow-no-rtt": "shadow_no_rtt",
}
NOTHING = "–"


def verdict_rows(findings: FindingsFile) -> pl.DataFrame:
    """A row for each claim: the verdict and the networks under each transport, and what they say together."""
    rows = []
    for claim in findings.claims:
        verdicts = {
            COLUMNS[one.transport]: f"{one.verdict} ({one.networks})"
            for one in claim.verdicts
            if one.transport in COLUMNS and one.networks
        }
        rows.append({"claim": claim.claim.replace("_", " "), **_all(verdicts), "together": claim.together})
    return pl.DataFrame(rows)


def contrast_rows(findings: FindingsFile) -> pl.DataFrame:
    """A row for each contrast: the time, the levels, the ratio under each transport, and what they say
    together."""
    rows = []
    for row in findings.contrasts:
        ratios = {COLUMNS[one.transport]: ratio_text(one) for one in row.values if one.transport in COLUMNS}
        rows.append(
            {
                "kind": row.kind,
                "time": f"{row.kind}, {SHOWN_METRICS[row.metric]}",
                "knob": row.knob,
                "at": (at := words(row.at)),
                "contrast": f"{level_name(row.from_level)} → {level_name(row.to_level)}"
                + (f", {at}" if at else ""),
                **_all(ratios),
                "together": row.together,
            }
        )
    return pl.DataFrame(rows)


def _all(known: Mapping[str, str]) -> dict[str, str]:
    return {column: known.get(column, NOTHING) for column in COLUMNS.values()}


def words(levels: str) -> str:
    """Levels of knobs, between commas, as a reader would write them."""
    return ", ".join(map(level_name, levels.split(", ")))


def main(arguments: list[str] | None = None) -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.findings_rows")
    parser.add_argument("findings", type=Path)
    parser.add_argument("stem", type=Path, help="of the CSV files, such as docs/tables/findings_refill")
    options = parser.parse_args(arguments)
    found = read_findings(options.findings)
    for name, rows in (("verdicts", verdict_rows(found)), ("contrasts", contrast_rows(found))):
        if not rows.is_empty():
            write_text(options.stem.with_name(f"{options.stem.name}_{name}.csv"), rows.write_csv())


if __name__ == "__main__":
    main()
