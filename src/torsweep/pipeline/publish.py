"""Publish: everything that goes with a result when it leaves this machine, in one folder.

In: the folders of a plan's figures and summaries, its experiment.yaml, its run directories. Out: a
folder with copies of them, ``provenance.json`` (the networks and what each engine run says about
itself), ``README.md`` (how to make it again) and ``SHA256SUMS``. The networks themselves are left
out: each is a pure function of its configuration and seed, and its checksum is there.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from torsweep.engines.prepare import run_status
from torsweep.engines.run_spec import PROVENANCE_FILE, RunSpec, read_run
from torsweep.errors import InputError
from torsweep.formats.json_file import read_json
from torsweep.network.model import NETWORK_FILE, Network, read_network
from torsweep.pipeline.results_tree import Place
from torsweep.provenance import machine, sha256_of_file, versions
from torsweep.stats.checksums import read_plan
from torsweep.storage import whole_directory
from torsweep.storage.folders import PUBLISHED
from torsweep.units import NANOSECONDS_PER, format_quantity

_HIDDEN = shutil.ignore_patterns(".*")
"""Markers, and what a kill may have left beside figures and summaries."""


def publish(
    place: Place,
    experiment_file: Path,
    summaries: Path,
    figures: Path,
    run_directories: Sequence[Path],
    out: Path,
) -> None:
    """Write the folder ``out`` as a whole, replacing what this function wrote there before.

    Raises InputError when a run is not complete, its tables belong to another run.json, or its network
    is no longer the one it ran on, or when a summary has changed since it was made.
    """
    read_plan(summaries)
    runs = [_complete_run(directory) for directory in run_directories]
    with whole_directory(out, PUBLISHED) as folder:
        for source, name in ((figures, "figures"), (summaries, "summaries")):
            shutil.copytree(source, folder / name, ignore=_HIDDEN)
        shutil.copy(experiment_file, folder / "experiment.yaml")
        provenance = _provenance(place, runs, run_directories)
        _write_json(folder / "provenance.json", provenance)
        (folder / "README.md").write_text(_readme(place, runs), encoding="utf-8")
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        sums = "".join(f"{sha256_of_file(file)}  {file.relative_to(folder)}\n" for file in files)
        (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")


def _complete_run(directory: Path) -> RunSpec:
    status = run_status(directory)
    if not status.complete:
        raise InputError(f"cannot be published: {status.text}", file=directory)
    return read_run(directory)


def _provenance(place: Place, runs: Sequence[RunSpec], directories: Sequence[Path]) -> dict[str, object]:
    networks = {
        run.network_sha256: _network(run, folder) for run, folder in zip(runs, directories, strict=True)
    }
    return {
        "experiment": place.experiment,
        "plan": place.plan,
        "era": place.era,
        "engine": place.engine,
        "network": place.network,
        "networks": [
            {"seed": network.seed, "network_sha256": sha256, "config": network.config}
            for sha256, network in sorted(networks.items(), key=lambda entry: (entry[1].seed, entry[0]))
        ],
        "published_with": {"versions": dict(versions()), "machine": dict(machine())},
        "runs": [
            {"variant": dict(run.variant), "seed": run.seed, **read_json(directory / PROVENANCE_FILE)}
            for run, directory in zip(runs, directories, strict=True)
        ],
    }


def _network(run: RunSpec, run_directory: Path) -> Network:
    """The network that ``run`` ran on: configurations may have changed since it was sampled."""
    directory = run_directory / run.network
    network, _ = read_network(directory, latency=False)
    if sha256_of_file(directory / NETWORK_FILE) != run.network_sha256:
        raise InputError("has been sampled anew since its runs", file=directory)
    return network


def _write_json(file: Path, document: object) -> None:
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _readme(place: Place, runs: Sequence[RunSpec]) -> str:
    warm_up_ns, duration_ns = runs[0].warm_up_ns, runs[0].duration_ns
    overrides = {
        "network": place.network,
        "engine": place.engine,
        "era": place.era,
        "plan": place.plan,
        "replicates": str(len({run.seed for run in runs})),
        "warm_up": format_quantity(warm_up_ns, NANOSECONDS_PER),
        "measured": format_quantity(duration_ns - warm_up_ns, NANOSECONDS_PER),
    }
    arguments = " ".join(shlex.quote(f"{key}={value}") for key, value in overrides.items())
    return f"""# {place.experiment}: {place.plan}

Made by torsweep with the engine {place.engine}, in the era {place.era}, on networks of `{place.network}`.
cellsim is a model of tor; where it ran, these are a model's results.

- `figures/`: PDF and PNG, and the points they plot as CSV
- `summaries/`: medians, paired differences, curves and verdicts on the claims, with intervals
- `experiment.yaml`: the question, the knobs and the claims
- `provenance.json`: versions, networks, and what each run says about itself
- `SHA256SUMS`: check them with `sha256sum --check SHA256SUMS`

To make it again, in a checkout of torsweep of this version:

    snakemake --cores 8 {place.experiment} --config {arguments}
"""
