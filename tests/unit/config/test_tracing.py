"""What may be asked of the tracing of cells, and what rests on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from torsweep.config.experiment import load_experiment
from torsweep.config.tracing import POINTS, Tracing
from torsweep.errors import InputError
from torsweep.pipeline.checks import require_answerable

EXPERIMENT = Path(__file__).parents[3] / "experiments/cell_trace/experiment.yaml"
HOSTS = "  hosts: [relay1, relay2]"


def refusal(text: str, tmp_path: Path) -> str:
    folder = tmp_path / "cell_trace"
    folder.mkdir()
    (folder / "experiment.yaml").write_text(text)
    with pytest.raises(InputError) as stopped:
        require_answerable(load_experiment(folder / "experiment.yaml"))
    return str(stopped.value)


def test_an_experiment_traces_nothing_unless_it_says_so():
    assert load_experiment(EXPERIMENT.parents[1] / "scheduler_choice/experiment.yaml").tracing is None
    tracing = load_experiment(EXPERIMENT).tracing
    assert tracing == Tracing(hosts=("relay1", "relay2"))
    assert tracing.points == POINTS


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (HOSTS, "  hosts: [relay1, relay1]", "tracing.hosts[1]: is given twice, got"),
        (HOSTS, f"{HOSTS}\n  points: [inbuf, output]", "tracing.points[1]"),
        (HOSTS, f"{HOSTS}\n  points: [inbuf, flush]", "figures[0]"),
        (HOSTS, "  hosts: [relay2]", "claims[0].host: is a relay that is not traced"),
        (f"tracing:\n{HOSTS}", "", "figures[0]: needs the times of cells"),
        ("    at_least: 1 ms", "    at_least: 1 ms\n    at_most: 2 ms", "at_least"),
        ("    at_least: 1 ms", "", "at_least"),
    ],
)
def test_what_cannot_be_traced_or_claimed_is_refused(old, new, complaint, tmp_path):
    text = EXPERIMENT.read_text()
    assert text.count(old) == 1
    assert complaint in refusal(text.replace(old, new), tmp_path)
