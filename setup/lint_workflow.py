"""``snakemake --lint`` without the one finding that the project has decided against.

In: the top of the repository as working directory, snakemake on PATH. Out: the titles of the other findings,
each with its place, on standard output; exit code 1 when there are any, or when the workflow cannot be read.
"""

from __future__ import annotations

import re
import subprocess
import sys

DECIDED_AGAINST = "Specify a conda environment or container for each rule.:"
"""A rule in another environment would run another torsweep than the one that planned it."""


def findings(report: str) -> list[str]:
    """Place and title of each finding in what Snakemake printed, but for those decided against."""
    found, place = [], ""
    for line in report.splitlines():
        if line.startswith("Lints for "):
            place = line.removeprefix("Lints for ").rstrip(":")
        elif (title := re.match(r" {4}\* (.+)$", line)) and title[1] != DECIDED_AGAINST:
            found.append(f"{place}: {title[1]}")
    return found


def main() -> int:
    """Print what Snakemake finds, and return the exit code."""
    answer = subprocess.run(["snakemake", "--lint"], capture_output=True, text=True, check=False)
    report = answer.stdout + answer.stderr
    found = findings(report)
    linted = "Lints for " in report or "your workflow is in a good condition" in report
    if answer.returncode and not linted:
        found = [report.rstrip()]
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
