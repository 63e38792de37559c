"""cellsim as a black box: a run directory whose files are damaged.

In: a folder. Out: a run of a second of simulated time on a small network, and what ``cellsim run`` says.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.fuzz.documents import fuzzed_network, reseal_network
from tests.fuzz.mutations import BYTE_KINDS, DOCUMENT_KINDS
from tests.fuzz.properties import Outcome, Target
from torsweep.config.experiment import load_experiment
from torsweep.engines.prepare import build_run, run_settings
from torsweep.engines.tools import find_own_program
from torsweep.network.model import LATENCY_FILE, NETWORK_FILE
from torsweep.provenance import sha256_of_file

RUN = "run"


def _make(folder: Path) -> None:
    fuzzed_network(folder)
    asked = {"warm_up": "0 s", "measured": "1 s", "client_start_window": "0 s"}
    experiment = load_experiment("refill_sweep", asked, Path(__file__).parents[2] / "experiments")
    variant = experiment.variant("")
    settings = run_settings(experiment, "cellsim", "2012", variant)
    settings = settings.model_copy(update={"tor": settings.tor.model_copy(update={"guards": 1})})
    build_run(settings, variant, folder / "network", folder / RUN).write(folder / RUN)


def _reseal_run(folder: Path) -> None:
    """run.json with the checksum of the damaged network.json."""
    file = folder / RUN / "run.json"
    document = json.loads(file.read_text())
    document["network_sha256"] = sha256_of_file(folder / "network" / NETWORK_FILE)
    file.write_text(json.dumps(document))


def _reseal_both(folder: Path) -> None:
    reseal_network(folder)
    _reseal_run(folder)


ENGINE_TARGETS = (
    Target("run.json", f"{RUN}/run.json", DOCUMENT_KINDS, (), _make),
    Target("network.json", f"network/{NETWORK_FILE}", DOCUMENT_KINDS, (), _make, None, _reseal_run),
    Target("latency.npy", f"network/{LATENCY_FILE}", BYTE_KINDS, (), _make, None, _reseal_both),
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
