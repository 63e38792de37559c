"""What comparisons of ``torsweep compare`` came to, as a table of a document.

    python -m bench.change_rows docs/tables/changes.csv 'the same tor again=STUDY' 'cc_alg=0=STUDY' …

In: for each row its words, and the folder of a study with one comparison that has been played. Out: a CSV
file with a row for each study and measure: the ``networks``, the relative ``change`` of the median, its
interval (``low``, ``high``, in percent, both measures of a kind of clients together with 95 %) and the
``verdict``. A measure without an interval, as of too few downloads, is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.writing import csv_text
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, load_experiment
from torsweep.errors import InputError
from torsweep.stats.files import CLAIMS_FILE
from torsweep.stats.verdicts import read_claims
from torsweep.storage import write_text
from torsweep.storage.published import EXPERIMENT_FILE
from torsweep.study.verdict import lines

COLUMNS = ("comparison", "networks", "measure", "change", "low", "high", "verdict")


def rows(words: str, study: Path) -> Iterator[dict[str, object]]:
    """A row for each measure of the comparison in ``study``; InputError where there is not just one."""
    summaries = sorted((study / "results" / "summaries").rglob(CLAIMS_FILE))
    if len(summaries) != 1:
        problem = f"has {len(summaries)} summaries"
        raise InputError(problem, file=study, accepted="a study with one comparison that has been played")
    found = read_claims(summaries[0].parent)
    experiment = load_experiment(study / EXPERIMENTS_DIRECTORY / found.experiment / EXPERIMENT_FILE)
    for line in lines(found, experiment):
        interval = line.answer.interval
        if not interval.known:
            continue
        numbers = {"change": interval.mean, "low": interval.low, "high": interval.high}
        yield {
            "comparison": words,
            "networks": interval.networks,
            "measure": line.measure,
            **{name: round(100 * share, 1) for name, share in numbers.items()},
            "verdict": line.verdict,
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("studies", nargs="+", metavar="WORDS=STUDY")
    given = parser.parse_args(arguments)
    named = [text.rpartition("=") for text in given.studies]
    table = [row for words, _, study in named for row in rows(words, Path(study))]
    write_text(given.out, csv_text(COLUMNS, table))


if __name__ == "__main__":
    main()
