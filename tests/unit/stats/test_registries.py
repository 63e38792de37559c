"""A statistic and a claim test are one file each: a toy of each kind is found and used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tests.made_tornet import clients_waiting, tornet
from torsweep import stats
from torsweep.errors import InputError
from torsweep.runsets.imported import import_simulations
from torsweep.stats.statistic import statistics
from torsweep.stats.summarize import read_shown_summary, summarize, write_summary
from torsweep.study.imports import compare_imports

ROOT = Path(__file__).parents[3]

TOY_STATISTIC = """
from torsweep.stats.statistic import SEED_COLUMN, Statistic, counts
from torsweep.stats.text import TextTable

TOY = Statistic(
    "toy",
    "a network",
    SEED_COLUMN | counts("twice the seed", "twice"),
    lambda analysis: [{"seed": seed, "twice": 2 * seed} for seed in analysis.provenance.seeds],
    in_summary=lambda analysis, frame: [TextTable("Toy", ["rows"], [[str(frame.height)]])],
)
"""

TOY_TEST = '''
from typing import Literal

import numpy as np

from torsweep.stats.claims import Claim
from torsweep.stats.claims.judging import Question, above, below


class Lucky(Claim):
    """Networks have ``luck``."""

    test: Literal["lucky"]
    luck: float

    def questions(self, analysis, levels):
        values = np.array(analysis.provenance.seeds) * self.luck
        return [Question("seed times luck", values, "> 0", above(0), below(0))]
'''

JUDGE_TOY = """
import sys
from pathlib import Path

import torsweep.stats.claims as package
package.__path__.append(sys.argv[1])

from torsweep.config.experiment import load_experiment
from torsweep.stats.summarize import summarize
from torsweep.runsets.plan_tables import PlanTables

claim = {"text": "Luck.", "knob": "refill_interval", "test": "lucky"}
claims = [{**claim, "id": "toy", "luck": 1.0}, {**claim, "id": "other", "luck": -1.0}]
experiment = load_experiment("refill_sweep", {"claims": claims})
for verdict in summarize(PlanTables.open(Path(sys.argv[2])), experiment).verdicts:
    print(verdict.claim, verdict.verdict)
"""


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that the scan for statistics finds, too."""
    folder = tmp_path / "toys"
    folder.mkdir()
    monkeypatch.setattr(stats, "__path__", [*stats.__path__, str(folder)])
    statistics.cache_clear()
    yield folder
    statistics.cache_clear()
    for name in [name for name in sys.modules if name.startswith("torsweep.stats.toy")]:
        del sys.modules[name]


def test_a_statistic_of_one_file_is_in_the_summary_of_a_sweep_and_of_imports(
    toys, tables, experiment, tmp_path, monkeypatch
):
    (toys / "toy.py").write_text(TOY_STATISTIC)
    write_summary(summarize(tables, experiment), tmp_path / "out")
    assert statistics()["toy"].read(tmp_path / "out").rows() == [(1, 2), (2, 4), (3, 6), (4, 8)]
    assert [table.title for table in read_shown_summary(tmp_path / "out").tables["toy"]] == ["Toy"]
    assert "toy.csv" in (tmp_path / "out/plan.json").read_text()
    monkeypatch.chdir(tmp_path)
    for name, took_s in (("vanilla", 1.5), ("branch", 1.0)):
        simulation = tornet(tmp_path / f"tornet-{name}", clients_waiting(took_s), network=1, seeds=[1])
        import_simulations([simulation], tmp_path / name)
    imports = (f"import:{tmp_path}/branch", f"import:{tmp_path}/vanilla")
    of_imports = compare_imports(*imports, "1 min", None, Console())
    assert statistics()["toy"].read(of_imports).rows() == [(1, 2)]


def test_two_statistics_of_one_name_are_refused(toys):
    (toys / "toy.py").write_text(TOY_STATISTIC.replace('"toy"', '"medians"'))
    with pytest.raises(InputError, match="two statistics have this name, got 'medians'"):
        statistics()


def test_a_test_of_one_file_is_accepted_and_judged(tables, tmp_path):
    (tmp_path / "lucky.py").write_text(TOY_TEST)
    command = [sys.executable, "-c", JUDGE_TOY, str(tmp_path), str(tables.directory)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.stdout.splitlines() == ["toy holds", "other contradicted"], done.stderr


def test_what_is_written_is_read_back_as_it_was(summary, tmp_path):
    write_summary(summary, tmp_path)
    empty = {name for name, frame in summary.frames.items() if frame.is_empty()}
    assert empty == {name for name in summary.frames if not (tmp_path / statistics()[name].file).exists()}
    for name, frame in summary.frames.items():
        if name in empty:
            continue
        found = statistics()[name].read(tmp_path)
        assert found.schema == frame.schema, name
        assert found.null_count().rows() == frame.null_count().rows(), name


def test_a_column_that_is_gone_and_a_number_that_is_none_are_refused(summary, tmp_path):
    write_summary(summary, tmp_path)
    file = tmp_path / "queues.csv"
    text = file.read_text()
    file.write_text(text.replace("ninth_decile", "other", 1))
    with pytest.raises(InputError, match="lacks a column; accepted: ninth_decile"):
        statistics()["queues"].read(tmp_path)
    lines = text.splitlines()
    file.write_text("\n".join([lines[0], lines[1].rpartition(",")[0] + ",x"]))
    with pytest.raises(InputError, match="is no CSV table"):
        statistics()["queues"].read(tmp_path)
