"""The study in a bundle: what repeats a plan in an empty folder with one command.

In: an experiment and the configuration of its networks. Out: a folder like those of ``torsweep new``, with
the files that the study has of its own, and no path of this machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from torsweep.config.era_consensus import ERAS_DIRECTORY
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY
from torsweep.config.network import NETWORKS_DIRECTORY
from torsweep.home import CHECKOUT, find
from torsweep.pipeline.figures import FIGURES_DIRECTORY
from torsweep.storage.folders import EXPERIMENT_FILE
from torsweep.study.new import shared_texts
from torsweep.study.portable import portable_experiment, portable_network
from torsweep.tor.repository import Commit, archive

_OWN = {FIGURES_DIRECTORY: "*.py", ERAS_DIRECTORY: "*.yaml", Path("topologies"): "*/*"}
"""Files that a study may have in place of those that ship."""


def write_study_of(
    experiment: Path, name: str, network: str, live_tor: Path | None, folder: Path
) -> list[str]:
    """Write the study of the experiment ``name`` in the file ``experiment``, on ``network``, to ``folder``.

    ``live_tor`` is a file of public Tor that it is compared with. Returns, as sentences, what has to be put
    into the folder before it can be played.
    """
    documents = {
        EXPERIMENTS_DIRECTORY / name / EXPERIMENT_FILE: portable_experiment(experiment),
        NETWORKS_DIRECTORY / f"{network}.yaml": portable_network(network),
    }
    texts = {Path(file): text for file, text in shared_texts().items()}
    for name_of, text in (texts | {file: one.text for file, one in documents.items()}).items():
        place = folder / name_of
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    files: dict[Path, Path | Commit] = {file: file for file in _own_files()}
    if live_tor is not None:
        files[Path(live_tor.name)] = live_tor
    for document in documents.values():
        files |= document.files
    for file, source in files.items():
        place = folder / file
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, Commit):
            archive(source, place)
        else:
            shutil.copyfile(find(source), place)
    return [what for document in documents.values() for what in document.missing]


def _own_files() -> Iterator[Path]:
    """Files of the working directory that are not as they ship."""
    for place, pattern in _OWN.items():
        for file in sorted(place.rglob(pattern)):
            ships = CHECKOUT / file
            if file.is_file() and not (ships.is_file() and ships.read_bytes() == file.read_bytes()):
                yield file
