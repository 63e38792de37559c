"""The study of a comparison: a folder with an experiment.yaml that describes it fully.

In: a :class:`~torsweep.study.change.Change` and a :class:`Setup`. Out: the :class:`Study`, its experiment,
and on disk its folder. The same question gives the same folder, in which the pipeline continues; the number
of networks is no part of the question, so a later command can add networks to those that have run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field

from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, Duration, Era, Experiment, Measured
from torsweep.config.network import NetworkConfig, load_network_config, network_path
from torsweep.config.reading import Section, validate
from torsweep.config.replicates import AUTO, Replicates
from torsweep.config.tors import TorSource
from torsweep.config.traffic import KIND_NAMES, PERF_KINDS
from torsweep.errors import InputError
from torsweep.formats.yaml_file import parse_scalar, read_yaml
from torsweep.home import CHECKOUT
from torsweep.provenance import sha256_of_file
from torsweep.storage import whole_file, write_text
from torsweep.storage.folders import EXPERIMENT_FILE
from torsweep.study.change import Change
from torsweep.study.engine import ENGINES
from torsweep.study.given_networks import ENGINE as GIVEN_ENGINE
from torsweep.study.given_networks import GivenNetworks
from torsweep.study.new import is_rule, write_study
from torsweep.study.places import STUDIES
from torsweep.study.tors import STOCK

PATCHES = Path("patches")
TRAFFIC_OF = "refill_sweep"
"""The experiment whose clients those of a comparison are like."""

FIGURES = ("ttfb_cdf", "ttlb_cdf", "differences", "measures", "measure_cdfs", "window_over_time")
KINDS = {"web": "Times of web clients", "bulk": "Times of bulk clients"}
PERF_FIGURES = ("perf_ttfb_cdf", "perf_ttlb_cdf", "perf_differences")
PERF_CLIENTS = {kind: f"Times of downloads of {KIND_NAMES[kind]}" for kind in PERF_KINDS}
"""The clients that measure in networks of tornettools."""

GROWTH = {"networks": 40, "batch": 8}
"""The budget of ``--networks auto``."""

PAIRINGS = {"free": ENGINES, "paths": ("emulation",)}
"""The engines that play a comparison in which paths are tor's own choice, or given."""

MAY_DIFFER = ("replicates", "precision", "question", "report")
"""Keys in which the document of a study may change: how many networks it takes, and what it is called."""


class Setup(Section):
    """What both sides of a comparison have in common, by the options of the command line."""

    networks: Annotated[Replicates, Field(alias="--networks")]
    era: Annotated[Era, Field(alias="--era")]
    warm_up: Annotated[Duration, Field(alias="--warm-up")]
    measured: Annotated[Measured, Field(alias="--measured")]
    pairing: Annotated[Literal["free", "paths"], Field(alias="--pairing")]

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that can play it: where paths are given, only one of them takes them."""
        return PAIRINGS[self.pairing]

    @classmethod
    def read(cls, networks: str, **options: str) -> Setup:
        """The set-up of these options; InputError names the option that is wrong."""
        given = {f"--{name.replace('_', '-')}": text for name, text in options.items()}
        return validate(cls, {"--networks": parse_scalar(networks), **given}, None)

    def keys(self) -> dict[str, Any]:
        """The keys of experiment.yaml that it sets, but for the number of networks."""
        told = self.model_dump(mode="json")
        paths = {"pairing": self.pairing} if self.pairing != "free" else {}
        durations = {"warm_up": told["warm_up"], "measured": told["measured"]}
        return {"era": self.era, "client_start_window": told["warm_up"], **durations, **paths}


@dataclass(frozen=True)
class Study:
    """A study that may not stand yet: where, the name of its experiment, and the document of that.

    ``patches`` are the files that the study has copies of, by the name of the copy; ``builds`` the tors that
    are built for it, with absolute paths; ``given`` are networks that are not sampled.
    """

    folder: Path
    name: str
    document: Mapping[str, Any]
    patches: Mapping[str, Path]
    builds: Mapping[str, TorSource]
    given: GivenNetworks | None = None

    @property
    def file(self) -> Path:
        """Its experiment.yaml."""
        return self.folder / EXPERIMENTS_DIRECTORY / self.name / EXPERIMENT_FILE

    def experiment(self) -> Experiment:
        """The experiment, judged by the models; InputError names a key of the file that it would have."""
        return validate(Experiment, {"name": self.name, **self.document}, self.file)

    def network(self) -> NetworkConfig:
        """The configuration of its networks."""
        return load_network_config(self.document["network"]) if self.given is None else self.given.config

    def require_same(self) -> None:
        """Raise InputError when the folder holds a study of something else."""
        if self.given is not None:
            checksums = self.folder / self.given.checksums
            if checksums.is_file() and checksums.read_text().split() != list(self.given.content):
                problem = f"holds a study of {self.given.name} as it was: the network has changed since"
                raise InputError(problem, key="--study", value=str(self.folder), accepted="another folder")
        if not self.file.is_file():
            return
        standing = read_yaml(self.file)
        for key in {**standing, **self.document}:
            if key not in MAY_DIFFER and standing.get(key) != _plain(self.document).get(key):
                problem = f"holds a study of something else: {key} differs in {self.file.name}"
                raise InputError(problem, key="--study", value=str(self.folder), accepted="another folder")
        for name, patch in self.patches.items():
            copy = self.folder / PATCHES / name
            if copy.is_file() and sha256_of_file(copy) != sha256_of_file(patch):
                problem = f"holds another patch of this name than {patch}"
                raise InputError(problem, file=copy, accepted="another --study, or the patch as it was")

    def write(self) -> None:
        """Write its folder, or bring the number of networks in it up to date."""
        self.require_same()
        write_study(self.folder, self.name, yaml_text(self.document))
        if self.given is not None:
            write_text(self.folder / self.given.file, yaml_text(self.given.document(self.folder)))
            write_text(self.folder / self.given.checksums, "\n".join([*self.given.content, ""]))
        for name, patch in self.patches.items():
            copy = self.folder / PATCHES / name
            if not copy.is_file():
                with whole_file(copy) as place:
                    shutil.copyfile(patch, place)


def make_study(
    change: Change,
    setup: Setup,
    network: str,
    folder: Path | None,
    command: str,
    given: GivenNetworks | None = None,
) -> Study:
    """The study of ``change`` on ``network``, in ``folder`` or in one named after it; nothing is written.

    ``command`` is the command line that asks for it; ``given`` are the networks, where they are not sampled.
    """
    name = f"compare_{change.level}" if is_rule(change.level) else change.level
    # What the folder is called must not depend on where it is: paths in it are relative to it.
    about = _document(change, setup, network, Path("/"), given)[0]
    asked = {key: value for key, value in about.items() if key not in MAY_DIFFER}
    content = [change.content, asked, *(given.content if given is not None else ())]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:6]
    where = folder if folder is not None else STUDIES / f"{name}-{digest}"
    if given is None:
        _require_network(network, where)
    document, patches = _document(change, setup, network, where.resolve(), given)
    document["report"]["source"] = command
    tors = {key: validate(TorSource, entry, "--candidate") for key, entry in change.tors.items()}
    if STOCK.name in change.knobs.get("tor", (STOCK.name,)):
        tors[STOCK.name] = validate(TorSource, STOCK.entry, None)
    builds = {key: tor for key, tor in tors.items() if not tor.named}
    return Study(where, name, document, patches, builds, given)


def _require_network(network: str, folder: Path) -> None:
    """Raise InputError for a network of the working directory, which a study elsewhere does not find."""
    file = network_path(network)
    if file.resolve().is_relative_to(CHECKOUT.resolve()) or (folder / file).is_file():
        return
    problem = f"stands in this folder, where the study {folder} does not look"
    accepted = "a network that ships, or one of the study: `--study .` in a folder that `torsweep new` made"
    raise InputError(problem, key="--network", value=network, accepted=accepted)


def _document(
    change: Change, setup: Setup, network: str, folder: Path, given: GivenNetworks | None
) -> tuple[dict[str, Any], dict[str, Path]]:
    """experiment.yaml, its paths relative to ``folder``; and the patches."""
    kinds, figures = (KINDS, FIGURES) if given is None else (PERF_CLIENTS, PERF_FIGURES)
    patches: dict[str, Path] = {}
    tors = {name: _entry(entry, folder, patches) for name, entry in change.tors.items()}
    said = {"tors": tors, "options": dict(change.options)}
    title = f"{change.words}, against {change.against}"
    document = {
        "question": f"What do {'web and bulk' if given is None else 'perf'} clients notice of {title}?",
        "report": {"title": title, "source": ""},
        "engines": list(setup.engines) if given is None else [GIVEN_ENGINE],
        "network": network,
        "replicates": setup.networks,
        **({"precision": GROWTH} if setup.networks == AUTO else {}),
        "first_seed": 1,
        **setup.keys(),
        **{key: value for key, value in said.items() if value},
        "knobs": {knob: list(levels) for knob, levels in change.knobs.items()},
        "baseline": change.baseline,
        "traffic": {} if given is not None else _usual_traffic(),
        "figures": list(figures),
        "claims": [_claim(kind, text, change) for kind, text in kinds.items()],
    }
    return document, patches


def _usual_traffic() -> Any:
    return read_yaml(CHECKOUT / EXPERIMENTS_DIRECTORY / TRAFFIC_OF / EXPERIMENT_FILE)["traffic"]


def _claim(kind: str, text: str, change: Change) -> dict[str, Any]:
    told = f"{text} with {change.level} differ from those with {change.baseline[change.knob]}."
    about = {"id": kind, "text": told, "test": "change", "knob": change.knob}
    return {**about, "kind": kind, "metrics": ["ttfb", "ttlb"]}


def _entry(entry: Mapping[str, Any], folder: Path, patches: dict[str, Path]) -> dict[str, Any]:
    """An entry of ``tors:`` with paths relative to the study; patches are those of its copies."""
    found = dict(entry)
    for key in ("git", "source", "program"):
        if str(found.get(key, "")).startswith("/"):
            found[key] = os.path.relpath(found[key], folder)
    if "patches" in found:
        given = [Path(patch) for patch in found["patches"]]
        patches |= {patch.name: patch for patch in given}
        found["patches"] = [str(PATCHES / patch.name) for patch in given]
    return found


def yaml_text(document: Mapping[str, Any]) -> str:
    """``document`` as YAML, in its order, to be read and edited."""
    return yaml.safe_dump(_plain(document), sort_keys=False, allow_unicode=True, width=100)


def _plain(document: Mapping[str, Any]) -> Any:
    """What YAML gives back: lists for tuples."""
    return json.loads(json.dumps(document))
