"""The documents of a study for another machine: what names a file there names its place in the other study.

In: experiment.yaml, or the configuration of networks. Out: :class:`Portable`: the text without paths of this
machine, the files that belong into the study, and what cannot be copied there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from torsweep.config.network import load_network_config, network_path
from torsweep.formats.yaml_file import read_yaml
from torsweep.network.sampling import input_paths
from torsweep.tor.arti import is_version
from torsweep.tor.repository import Commit, find_commit, is_repository

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
    ``missing`` says in sentences what has to be put there by hand."""

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
        """With the text of ``file``, whose ``document`` has the keys ``changed``: as it is where none has."""
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
    if imported := [key for key in _INPUTS if "file" in _section(document, key)]:
        tables = input_paths(load_network_config(network))
        for key in imported:
            table = tables[_INPUTS[key]]
            changed[key] = {**document[key], "file": portable.place(table, SOURCES / f"{key}_{table.name}")}
    return portable.say(file, document, changed)


def _section(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    section = document.get(key)
    return section if isinstance(section, dict) else {}


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
