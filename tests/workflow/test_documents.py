"""Every command that README and how-tos show works in a clean folder, or is named with the reason why not."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.fuzz.documents import TARGETS
from tests.made_tornet import clients_waiting, tornet
from tests.published_plan import PublishedPlan
from tests.workflow import warm
from tests.workflow.conftest import TIMEOUT_S, Workspace, make_workspace
from tests.workflow.documented import DOCUMENTS, NOT_RUN, codes_of, commands_of, to_run
from torsweep.bundle import pack

# docs/how-to/import-your-own-data.md, in the size of the network `ci`.
MINE = """
relays: 10
web_clients: 95
bulk_clients: 5
servers: 20
relay_population: {file: imported/relays}
client_bandwidth: {file: imported/bandwidth}
latency: {file: imported/latency, use: direct}
"""
SHOWN = {document.name: commands_of(document) for document in DOCUMENTS}


def test_each_command_that_is_left_out_is_shown_somewhere():
    shown = tuple(command for commands in SHOWN.values() for command in commands)
    assert [left for left in NOT_RUN if not any(command.startswith(left) for command in shown)] == []


def test_commands_are_found():
    assert "make refill_sweep" in SHOWN["README.md"]
    assert (
        "torsweep network sample mine --seed 1 --out look && torsweep network describe look"
        in (SHOWN["import-your-own-data.md"])
    )
    assert sum(map(len, SHOWN.values())) > 40


@pytest.fixture(scope="module")
def clean(plan: PublishedPlan, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with what a user would bring: measurements, a network, simulations, a bundle."""
    folder = tmp_path_factory.mktemp("clean")
    workspace = make_workspace(folder)
    for name in ("matrix.txt", "tiles.csv", "relayinfo.json"):
        next(target for targets in TARGETS.values() for target in targets if target.name == name).make(folder)
    (folder / "configs/networks/mine.yaml").write_text(MINE)
    (folder / "tor_metrics.json").write_text('{"download_times": {}, "daily_counts": {}}')
    for number in (1, 2, 3):
        tornet(folder / f"tornet-{number}", clients_waiting(1 + number / 10), network=number)
        tornet(folder / f"branch/tornet-{number}", clients_waiting(1.2 + number / 20), network=number)
    plan.report()
    plan.publish(folder / "published")
    pack(folder / "published", folder / "refill_sweep.zip")
    return workspace


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_what_a_document_shows_works(document: Path, clean: Workspace):
    for command in SHOWN[document.name]:
        if command.startswith(tuple(NOT_RUN)):
            continue
        done = _run(to_run(command), clean)
        assert done.returncode in codes_of(command), f"{command}\n{done.stdout}"
        assert "Traceback" not in done.stdout, f"{command}\n{done.stdout}"


def _run(command: str, workspace: Workspace) -> subprocess.CompletedProcess[str]:
    if command.startswith("snakemake "):
        return warm.run(shlex.split(command), workspace.folder, TIMEOUT_S)
    path = os.pathsep.join((str(warm.programs()), os.environ["PATH"]))
    # `make test` must not hand its own options down to the make under test.
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=workspace.folder,
        env={**kept, "PATH": path},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
