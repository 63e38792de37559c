"""An experiment that is no part of the repository: two variants on one small network.

In: a folder. Out: a workspace there, with the experiment ``pair`` beside the others.
"""

from __future__ import annotations

from pathlib import Path

from tests.workflow.conftest import Workspace, make_workspace

QUESTION = "Does anything change when tokens come more often?"
_PAIR = f"""
question: {QUESTION}
report: {{title: A test, source: none}}
engines: [cellsim]
era: "2012"
network: ci
replicates: 1
first_seed: 1
client_start_window: 5 s
warm_up: 10 s
measured: 20 s
knobs:
  refill_interval: [1000ms, 10ms]
  circuit_policy: [ewma]
baseline:
  refill_interval: 10ms
  circuit_policy: ewma
traffic:
  web: {{request: 400 B, response: 300 KiB, think: {{min: 1 s, max: 30 s}}}}
  bulk: {{request: 400 B, response: 5 MiB, think: {{min: 0 s, max: 0 s}}}}
figures: [ttfb_cdf]
claims: []
"""


def workspace_with_pair(folder: Path) -> Workspace:
    """A workspace in ``folder``, with nothing run in it."""
    made = make_workspace(folder)
    (folder / "experiments" / "pair").mkdir()
    (folder / "experiments" / "pair" / "experiment.yaml").write_text(_PAIR)
    return made
