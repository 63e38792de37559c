"""The study in a bundle: what repeats a plan in an empty folder with one command.

In: an experiment and the configuration of its networks. Out: a folder like those of ``torsweep new``, with
the files that the study has of its own, and no path of this machine. Sources of tor that are no files are
not in it: their places are named.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from torsweep.config.era_consensus import ERAS_DIRECTORY
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY
from torsweep.config.network import NETWORKS_DIRECTORY, network_path
from torsweep.formats.yaml_file import read_yaml
from torsweep.home import CHECKOUT, find
from torsweep.pipeline.figures import FIGURES_DIRECTORY
from torsweep.storage.folders import EXPERIMENT_FILE
from torsweep.study.new import shared_texts
from torsweep.tor.arti import is_version
from torsweep.tor.repository import find_commit, is_repository

SOURCES, PATCHES = Path("sources"), Path("patches")
_OWN = {FIGURES_DIRECTORY: "*.py", ERAS_DIRECTORY: "*.yaml"}
"""Files that a study may have in place of those that ship."""


def write_study_of(
    experiment: Path, name: str, network: str, live_tor: Path | None, folder: Path
) -> list[str]:
    """Write the study of the experiment ``name`` in the file ``experiment``, on ``network``, to ``folder``.

    ``live_tor`` is a file of public Tor that it is compared with. Returns, as sentences, what has to be put
    into the folder before it can be played.
    """
    for file, text in shared_texts().items():
        _write(folder / file, text)
    for own in _own_files():
        _copy(own, folder / own)
    if live_tor is not None:
        _copy(live_tor, folder / live_tor.name)
    text, missing = _without_paths(experiment, "tors", folder)
    _write(folder / EXPERIMENTS_DIRECTORY / name / EXPERIMENT_FILE, text)
    text, networks = _without_paths(network_path(network), "tornettools", folder)
    _write(folder / NETWORKS_DIRECTORY / f"{network}.yaml", text)
    return missing + networks


def _without_paths(file: Path, key: str, folder: Path) -> tuple[str, list[str]]:
    """The text of ``file`` as it is; or where its ``key`` names files of this machine, with places in
    ``folder``, and what has to be put there."""
    document = read_yaml(file)
    stated, missing = document.get(key), list[str]()
    if not stated:
        return file.read_text(encoding="utf-8"), missing
    if key == "tors":
        placed: object = {name: _placed(name, dict(tor), folder, missing) for name, tor in stated.items()}
    else:
        names = [f"{number}_{Path(one).name}" for number, one in enumerate(stated, start=1)]
        placed = [_left_out(name, missing, "the network that tornettools made") for name in names]
    moved = {**document, key: placed}
    return yaml.safe_dump(moved, sort_keys=False, allow_unicode=True, width=100), missing


def _placed(name: str, tor: dict[str, Any], folder: Path, missing: list[str]) -> dict[str, Any]:
    """The entry ``tor`` of ``tors:`` with places in the study; patches and tarballs are copied there."""
    for number, patch in enumerate(tor.get("patches", ()), start=1):
        place = PATCHES / f"{name}_{number}_{Path(patch).name}"
        _copy(Path(patch), folder / place)
        tor["patches"] = [*tor["patches"][: number - 1], str(place), *tor["patches"][number:]]
    kind = next((kind for kind in ("git", "source", "program", "arti") if kind in tor), None)
    if kind is None or tor[kind] == "debian" or (kind == "arti" and is_version(tor[kind])):
        return tor
    path = Path(tor[kind])
    what = f"{name}_{path.name}"
    if kind == "source" and path.is_file():
        _copy(path, folder / SOURCES / what)
        return {**tor, kind: str(SOURCES / what)}
    if path.is_dir() and is_repository(path):
        tor["revision"] = find_commit(path, tor.get("revision", "HEAD")).commit
        return {**tor, kind: _left_out(what, missing, f"a git repository with the commit {tor['revision']}")}
    return {**tor, kind: _left_out(what, missing, f"the {kind} {path.name}")}


def _left_out(name: str, missing: list[str], what: str) -> str:
    place = SOURCES / name
    missing.append(f"`{place}`: {what}")
    return str(place)


def _own_files() -> Iterator[Path]:
    """Files of the working directory that are not as they ship."""
    for place, pattern in _OWN.items():
        for file in sorted(place.rglob(pattern)):
            ships = CHECKOUT / file
            if not ships.is_file() or ships.read_bytes() != file.read_bytes():
                yield file


def _copy(source: Path, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(find(source), file)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
