"""A study for another machine: its documents, and the command that makes a plan's results again.

In: experiment.yaml, or the configuration of networks. Out: :class:`Portable`: the text, in which files are
named by their places in the other study, these files, and what cannot be copied there.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from torsweep import __version__
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, Experiment
from torsweep.config.network import load_network_config, network_path
from torsweep.config.replicates import numbers_by_level
from torsweep.formats.yaml_file import read_yaml
from torsweep.home import CHECKOUT
from torsweep.network.sampling import input_paths
from torsweep.runsets.plan_tables import SOURCES_JOINED_BY, Provenance
from torsweep.runsets.public_tor import USUAL_PUBLIC_TOR
from torsweep.runsets.run import SEPARATOR, parse_sources
from torsweep.storage.folders import EXPERIMENT_FILE
from torsweep.tor.arti import is_version
from torsweep.tor.repository import Commit, find_commit, is_repository
from torsweep.units import NANOSECONDS_PER, format_quantity

SOURCES, PATCHES = Path("sources"), Path("patches")
_INPUTS = {
    "relay_population": "relays",
    "client_bandwidth": "bandwidth",
    "latency": "latency",
    "countries": "countries",
}
"""Key of a network's configuration → what :func:`torsweep.network.sampling.input_paths` calls it."""


@dataclass
class Portable:
    """``text`` of a document; ``files`` by their places in a study, a commit as a tarball of its tree;
    ``missing``: in sentences, what has to be put there by hand."""

    text: str = ""
    files: dict[Path, Path | Commit] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def place(self, file: Path | Commit, place: Path) -> str:
        """Have ``file`` at ``place``; as text."""
        self.files[place] = file
        return str(place)

    def leave_out(self, name: str, what: str) -> str:
        """Say that ``what`` has to be put into the folder of sources as ``name``; its place as text."""
        self.missing.append(f"`{SOURCES / name}`: {what}")
        return str(SOURCES / name)

    def say(self, file: Path, document: Mapping[str, Any], changed: Mapping[str, Any]) -> Portable:
        """Set the text: ``file``, or ``document`` with the keys ``changed`` where they differ from it."""
        moved = {**document, **changed}
        self.text = file.read_text(encoding="utf-8")
        if moved != document:
            self.text = yaml.safe_dump(moved, sort_keys=False, allow_unicode=True, width=100)
        return self


def portable_experiment(file: Path) -> Portable:
    """The experiment in ``file``, whose ``tors:`` are tarballs and patches in the study."""
    document, portable = read_yaml(file), Portable()
    stated = document.get("tors") or {}
    tors = {name: _placed(name, tor, portable) for name, tor in stated.items()}
    return portable.say(file, document, {"tors": tors} if stated else {})


def portable_network(network: str) -> Portable:
    """The configuration of ``network``, whose imported tables are in the study."""
    file, portable = network_path(network), Portable()
    document = read_yaml(file)
    if folders := document.get("tornettools"):
        names = [f"{number}_{Path(one).name}" for number, one in enumerate(folders, start=1)]
        placed = [portable.leave_out(name, "the network that tornettools made") for name in names]
        return portable.say(file, document, {"tornettools": placed})
    changed: dict[str, object] = {}
    for key, name in _INPUTS.items():
        section = document.get(key)
        if isinstance(section, dict) and "file" in section:
            table = input_paths(load_network_config(network))[name]
            changed[key] = {**section, "file": portable.place(table, SOURCES / f"{key}_{table.name}")}
    return portable.say(file, document, changed)


def _placed(name: str, tor: Mapping[str, Any], portable: Portable) -> dict[str, Any]:
    """The entry ``tor`` of ``tors:`` with places in the study."""
    placed = dict(tor)
    if patches := [Path(patch) for patch in tor.get("patches", ())]:
        places = [PATCHES / f"{name}_{number}_{patch.name}" for number, patch in enumerate(patches, start=1)]
        placed["patches"] = list(map(portable.place, patches, places))
    kind = next((kind for kind in ("git", "source", "program", "arti") if kind in tor), None)
    if kind is None or tor[kind] == "debian" or (kind == "arti" and is_version(tor[kind])):
        return placed
    path = Path(tor[kind])
    what = f"{name}_{path.name}"
    if kind == "source" and path.is_file():
        return {**placed, kind: portable.place(path, SOURCES / what)}
    if not (path.is_dir() and is_repository(path)):
        return {**placed, kind: portable.leave_out(what, f"the {kind} {path.name}")}
    commit = find_commit(path, placed.pop("revision", "HEAD"))
    if kind == "git":
        del placed["git"]
        tarball = SOURCES / f"{name}_{commit.commit}.tar.gz"
        return {"source": portable.place(commit, tarball), **placed}
    missing = portable.leave_out(what, f"a git repository with the commit {commit.commit}")
    return {**placed, kind: missing, "revision": commit.commit}


_PRECISION = "precision."


def repeat_overrides(
    provenance: Provenance,
    experiment: Experiment,
    settings: Mapping[str, object],
    live_tor: str | Path | None = None,
) -> dict[str, str]:
    """The ``--config`` values for snakemake that repeat the runs and verdicts of ``provenance``.

    ``experiment`` has ``settings``, such as ``precision.margin``, applied; ``live_tor`` is the file of public
    Tor beside them.
    """
    engines = provenance.engine.replace(SOURCES_JOINED_BY, SEPARATOR)
    measured_ns = provenance.duration_ns - provenance.warm_up_ns
    precision = ", ".join(
        f"{key.removeprefix(_PRECISION)}: {value}" for key, value in settings.items() if _PRECISION in key
    )
    # Where nothing has run yet, runs of tor that others are compared with are not taken, but made.
    of_tor = SEPARATOR in engines and any(source.runs_tor for source in parse_sources(engines))
    return {
        "network": provenance.network,
        "engine": engines,
        **({"runs": "all"} if of_tor else {}),
        "era": provenance.era,
        "plan": provenance.plan,
        **({} if numbers_by_level(experiment.replicates) else {"replicates": str(len(provenance.seeds))}),
        "first_seed": str(min(provenance.seeds)),
        "warm_up": format_quantity(provenance.warm_up_ns, NANOSECONDS_PER),
        "measured": format_quantity(measured_ns, NANOSECONDS_PER),
        **({"precision": f"{{{precision}}}"} if precision else {}),
        **({"live_tor": str(live_tor)} if live_tor not in (None, USUAL_PUBLIC_TOR.name) else {}),
    }


def repeat_command(overrides: Mapping[str, str], experiment: str) -> str:
    """The command line that makes runs, figures, page and bundle, with :func:`repeat_overrides`."""
    stated = {"experiment": experiment, **overrides}
    arguments = " ".join(shlex.quote(f"{key}={value}") for key, value in stated.items())
    return f"snakemake --cores 8 publish --config {arguments}"


def repeat_place(experiment: Experiment) -> str:
    """Where this command does: where the pipeline has the same experiment.yaml."""
    name = EXPERIMENTS_DIRECTORY / experiment.name / EXPERIMENT_FILE
    ships, own = CHECKOUT / name, experiment.file
    if own is None or (ships.is_file() and ships.read_bytes() == own.read_bytes()):
        return f"a checkout of torsweep {__version__}"
    return f"a study of torsweep {__version__} that has this experiment.yaml as {name}"
