"""cellsim as a black box: a run directory whose files are damaged.

In: a folder. Out: a run of a second of simulated time on a small network, and what ``cellsim run`` says.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.fuzz.documents import fuzzed_network
from tests.fuzz.mutations import BYTE_KINDS, DOCUMENT_KINDS
from tests.fuzz.properties import Outcome, Target
from torsweep.config.experiment import load_experiment
from torsweep.engines.prepare import build_run
from torsweep.engines.run_settings import run_settings
from torsweep.engines.tools import find_own_program
from torsweep.network.model import LATENCY_FILE, NETWORK_FILE

RUN = "run"


def _make(folder: Path) -> None:
    fuzzed_network(folder)
    asked = {"warm_up": "0 s", "measured": "1 s", "client_start_window": "0 s"}
    experiment = load_experiment("refill_sweep", asked, Path(__file__).parents[2] / "experiments")
    variant = experiment.variant("")
    settings = run_settings(experiment, "cellsim", "2012", variant)
    settings = settings.model_copy(update={"tor": settings.tor.model_copy(update={"guards": 1})})
    build_run(settings, variant, folder / "network", folder / RUN).write(folder / RUN)


ENGINE_TARGETS = (
    Target("run.json", f"{RUN}/run.json", DOCUMENT_KINDS, (), _make),
    Target("network.json", f"network/{NETWORK_FILE}", DOCUMENT_KINDS, (), _make),
    Target("latency.npy", f"network/{LATENCY_FILE}", BYTE_KINDS, (), _make),
)


def run_engine(target: Target, place: Path) -> Outcome:
    """``cellsim run`` on a copy of the damaged run: what it writes does not stand among the inputs."""
    work = place / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(place / "in", work)
    program = find_own_program("cellsim")
    assert program is not None, "cellsim is not built"
    done = subprocess.run([program, "run", work / RUN], capture_output=True, text=True, check=False)
    if done.returncode == 2:
        assert not (work / RUN / "provenance.json").exists(), "refused, and a run that looks whole was left"
    return Outcome(done.returncode, done.stderr)
