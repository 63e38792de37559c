"""A client that runs Arti in a small network of tor, on this machine's kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.prepared_runs import prepared_run, sampled_network
from torsweep.config.tors import TorSource
from torsweep.engines.run_spec import write_run
from torsweep.errors import TorsweepError
from torsweep.home import CHECKOUT
from torsweep.tor import TOOLS
from torsweep.tor.arti import TRIED, require_rust
from torsweep.tor.build import build_tor, planned_key
from torsweep.tor.builds import BuiltTor, find_build

BUILD = "TORSWEEP_BUILD_ARTI"
KEPT = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "torsweep"
"""Where a build of Arti is kept for all clones: it takes longer than everything else that tests do."""


@pytest.fixture(scope="module")
def arti() -> BuiltTor:
    """The build of Arti; a test that needs it is skipped by name where there is none."""
    source = TorSource(arti=TRIED)
    version = f"arti-{TRIED}-{planned_key(source)}"
    try:
        require_rust()
        if BUILD in os.environ:
            return build_tor(source, KEPT, len(os.sched_getaffinity(0)))
        folder = CHECKOUT / TOOLS if (CHECKOUT / TOOLS / version).is_dir() else KEPT
        return find_build(folder, version)
    except TorsweepError as error:
        pytest.skip(f"needs Arti, which `{BUILD}=1 make test` builds once: {error}")


@pytest.mark.real_time
def test_a_client_is_arti_and_downloads_as_the_others_do(emulation, built_tor, arti, tmp_path):
    network, folder, tools = tmp_path / "network", tmp_path / "run", tmp_path / TOOLS
    sampled_network(network, "ci", relays=6, web_clients=2, bulk_clients=0, servers=2)
    tools.mkdir(parents=True)
    for built in (built_tor, arti):
        (tools / built.folder.name).symlink_to(built.folder.resolve())
    one = {"mix": {"arti": 0.5, "stock": 0.5}, "on": {"role": "client"}}
    asked = {
        "client_start_window": "1 s",
        "warm_up": "2 s",
        "measured": "8 s",
        "tors": {"arti": {"arti": TRIED}, "one": one},
        "knobs.tor": ["stock", "one"],
        "baseline.tor": "stock",
        "traffic.web.response": "20 KiB",
        "traffic.web.think": {"min": "0 s", "max": "1 s"},
    }
    builds = {"stock": built_tor.version, "arti": arti.version}
    run = prepared_run(network, folder, "tor=one", engine="emulation", era="today", builds=builds, **asked)
    write_run(run, folder)
    command = [sys.executable, "-m", "torsweep", "emulation", "run", str(folder)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (other,) = json.loads((folder / "provenance.json").read_text())["other_tors"]
    (own,) = run.arti_hosts
    assert (other["version"], other["hosts"]) == (f"arti-{TRIED}", [own])
    complete = pl.read_parquet(folder / "streams.parquet").filter(outcome="complete")
    assert set(complete["client"]) == {"web1", "web2"}
    assert complete.filter(client=own)["circuit"].null_count() == complete.filter(client=own).height > 0
    assert pl.read_parquet(folder / "circuits.parquet").is_empty()
    costs = pl.read_parquet(folder / "costs.parquet").filter(host=own)
    assert costs["ready_us"].item() > 0 and costs["peak_memory_bytes"].item() > 10_000_000
