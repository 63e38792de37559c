"""The directory of a run: what was prepared there, and what an engine left.

In: a run directory. Out: its run.json with its network; the provenance of a finished run. A directory never
holds results of other settings than those of its run.json.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torsweep.engines.run_spec import RUN_FILE, RunSpec, read_run
from torsweep.errors import InputError, OutputError
from torsweep.folder_lock import folder_claimed
from torsweep.network.model import NETWORK_FILE, Network, read_network
from torsweep.provenance import PROVENANCE_FILE, sha256_of_file
from torsweep.storage.folders import RUN_FOLDER
from torsweep.storage.manifest import changed_since, verify_folder


def read_prepared(run_directory: Path) -> tuple[RunSpec, Network, Path]:
    """The run in ``run_directory``, its network without latencies, and where that is.

    Raises InputError when the network is another one than the run was prepared for.
    """
    run = read_run(run_directory)
    directory = (run_directory / run.network).resolve()
    network, _ = read_network(directory, latency=False)
    sha256 = sha256_of_file(directory / NETWORK_FILE)
    if sha256 != run.network_sha256:
        raise InputError(
            "is not the network that run.json was prepared for",
            file=directory / NETWORK_FILE,
            value=sha256[:16],
            accepted=f"SHA-256 {run.network_sha256[:16]}…; prepare the run again",
        )
    return run, network, directory


def clear_results(run_directory: Path) -> None:
    """Remove what an engine has left of a run; OutputError when that cannot be.

    Provenance goes first: without it, tables do not count.
    """
    try:
        for file in (run_directory / PROVENANCE_FILE, *run_directory.glob("*.parquet")):
            file.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{run_directory}: cannot be written: {error.strerror}") from error


def write_run(run: RunSpec, run_directory: Path, *, wait: bool = False) -> bool:
    """Write ``run`` into ``run_directory``; False when the very same run stood there already.

    Results of other settings are removed first, so that tables and run.json always belong together.
    Raises OutputError when the directory cannot be written, or an engine is at work in it and this
    function is not to ``wait`` for its end.
    """
    file = run_directory / RUN_FILE
    with folder_claimed(run_directory, RUN_FOLDER, wait=wait):
        if file.is_file() and file.read_text(encoding="utf-8") == run.text():
            return False
        clear_results(run_directory)
        run.write(run_directory)
    return True


def finished_run(run_directory: Path) -> dict[str, Any]:
    """What the engine says of the run in ``run_directory``, which it has finished.

    Raises InputError when it has not, and when run.json or a table is missing or has changed since.
    """
    provenance = verify_folder(run_directory, PROVENANCE_FILE, "no such file: the run is not finished")
    if provenance.get("run_sha256") != sha256_of_file(run_directory / RUN_FILE):
        raise changed_since("has changed since the engine ran", run_directory / RUN_FILE, run_directory)
    return provenance
