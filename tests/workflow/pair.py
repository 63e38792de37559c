"""An experiment that is no part of the repository: two variants on one small network.

In: a folder. Out: a workspace there, with the experiment ``pair`` beside the others; and what is different in
the results of two workspaces.
"""

from __future__ import annotations

from pathlib import Path

from tests.workflow.conftest import Workspace, make_workspace
from torsweep.storage.folders import is_temporary

QUESTION = "Does anything change when tokens come more often?"
PAIR = f"""
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
    (folder / "experiments" / "pair" / "experiment.yaml").write_text(PAIR)
    return made


SAME_BYTES = ("networks/**/*.*", "runs/**/*.parquet", "tables/**/*.*", "summaries/**/*.*", "figures/**/*.*")
"""All but what a run measured of its machine, which stands in its provenance.json."""


def leftovers(workspace: Workspace, reference: Workspace) -> list[str]:
    """Paths that are in the results of one of the two and not in the other's; temporaries do not count.

    A step that outlives its Snakemake ends well, but Snakemake did not see how long it took: such a run has
    no file below ``results/benchmarks``.
    """
    one, other = (
        {
            str(path.relative_to(made.folder))
            for path in (made.folder / "results").rglob("*")
            if not is_temporary(path.name)
        }
        for made in (workspace, reference)
    )
    unseen = {path for path in other - one if path.startswith("results/benchmarks/")}
    return sorted((one ^ other) - unseen)


def differences(workspace: Workspace, reference: Workspace) -> list[str]:
    """What is not the same in the results of the two, file by file."""
    results = reference.folder / "results"
    files = [file for pattern in SAME_BYTES for file in results.glob(pattern) if file.is_file()]
    paths = [file.relative_to(reference.folder) for file in files]
    return [
        str(path)
        for path in paths
        if (workspace.folder / path).read_bytes() != (reference.folder / path).read_bytes()
    ]
