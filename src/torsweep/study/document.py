"""The study of a comparison: a folder with an experiment.yaml that describes it fully.

In: a :class:`~torsweep.study.tor_change.TorChange` and a :class:`Setup`. Out: the :class:`Study`. The same
question gives the same folder, in which the pipeline continues; the number of networks is no part of it, so
that a later command can add networks to those that have run.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field

from torsweep.config.experiment import (
    EXPERIMENTS_DIRECTORY,
    Duration,
    Era,
    Experiment,
    Measured,
    Seed,
    load_experiment,
)
from torsweep.config.network import NetworkConfig, load_network_config, network_path
from torsweep.config.reading import Section, validate
from torsweep.config.replicates import Number
from torsweep.config.tors import TorSource
from torsweep.config.variant import FREE, PATHS, Pairing
from torsweep.errors import InputError
from torsweep.formats.yaml_file import parse_scalar, read_yaml
from torsweep.home import CHECKOUT
from torsweep.pipeline.checks import is_rule
from torsweep.pipeline.tree import STUDIES
from torsweep.provenance import sha256_of_file
from torsweep.stats.inference.interim import read_looks, with_look
from torsweep.storage import whole_file, write_text
from torsweep.storage.folders import EXPERIMENT_FILE
from torsweep.study.named_tor import DEBIANS_TOR
from torsweep.study.new import write_study
from torsweep.study.questions import About, claims_of_study, known_spread
from torsweep.study.sight import refusal
from torsweep.study.tor_change import TorChange
from torsweep.study.venue import TORNET_ENGINE, Tornets, engines_of_tor
from torsweep.units import SECOND_NS

PATCHES = Path("patches")
TRAFFIC_OF = "refill_sweep"
"""The experiment whose clients those of a comparison are like."""

_FIGURES = ("ttfb_cdf", "ttlb_cdf", "differences", "measures", "measure_cdfs", "window_over_time")
_LIKE = {"onion": "web"}
"""Kinds of client that do what those of another kind do."""
_PERF_FIGURES = ("perf_ttfb_cdf", "perf_ttlb_cdf", "perf_differences")

USUAL_OPTIONS = {"networks": "8", "era": "today", "warm_up": "30 s", "measured": "2 min", "pairing": PATHS}
"""In the model, medians of small_live are the same within 1.5 % after 20, 30, 60 and 120 s of warm-up."""

_NUMBERS = ("networks", "first_seed")

MAY_DIFFER = ("replicates", "precision", "question", "report", "figures")
"""Keys in which the document of a study may change: how many networks, its name in words, what is drawn."""


class Setup(Section):
    """The common settings of both sides of a comparison, from the command line."""

    networks: Annotated[Number, Field(alias="--networks")]
    era: Annotated[Era, Field(alias="--era")]
    warm_up: Annotated[Duration, Field(alias="--warm-up")]
    measured: Annotated[Measured, Field(alias="--measured")]
    pairing: Annotated[Pairing, Field(alias="--pairing")]
    first_seed: Annotated[Seed | None, Field(alias="--first-seed")] = None
    about: Annotated[About | None, Field(alias="--about")] = None

    @classmethod
    def read(cls, tornets: Tornets | None = None, **options: str | None) -> Setup:
        """The set-up of these options, by the names of the fields; what is left out is as usual, or as the
        networks of ``tornets`` have it. InputError names the option that is wrong."""
        stated = {name: text for name, text in options.items() if text is not None}
        usual = {name: stated.get(name, text) for name, text in USUAL_OPTIONS.items()}
        texts = usual if tornets is None else tornets.options(dict.fromkeys(usual) | options)
        texts |= {name: stated[name] for name in ("first_seed", "about") if name in stated}
        read = {name: parse_scalar(text) if name in _NUMBERS else text for name, text in texts.items()}
        return validate(cls, {f"--{name.replace('_', '-')}": value for name, value in read.items()}, None)

    def keys(self) -> dict[str, Any]:
        """The keys of experiment.yaml that it sets, but for the number of networks."""
        texts = self.model_dump(mode="json")
        paths = {"pairing": self.pairing} if self.pairing != FREE else {}
        durations = {name: texts[name] for name in ("warm_up", "measured")}
        return {"era": self.era, "client_start_window": texts["warm_up"], **durations, **paths}


class _Planned(Section):
    replicates: Number


@dataclass(frozen=True)
class Study:
    """A study that may not exist yet: its folder, and the name and the document of its experiment.

    ``patches`` are the files that it has copies of, by the name of the copy; ``builds`` the tors that are
    built for it, with absolute paths; ``tornets`` its networks where they are not sampled.
    """

    folder: Path
    name: str
    document: Mapping[str, Any]
    patches: Mapping[str, Path]
    builds: Mapping[str, TorSource]
    tornets: Tornets | None = None

    @property
    def file(self) -> Path:
        """The path of experiment.yaml."""
        return self.folder / EXPERIMENTS_DIRECTORY / self.name / EXPERIMENT_FILE

    def experiment(self) -> Experiment:
        """The experiment, judged by the models; InputError names a key of the file that it would have."""
        return validate(Experiment, {"name": self.name, **self.document}, self.file)

    @property
    def planned_networks(self) -> int | None:
        """The number of networks for which the same command has begun this study; None where none has, and
        InputError where that is no number any more."""
        if not self.file.is_file():
            return None
        there = read_yaml(self.file)
        if there.get("report") != self.document["report"]:
            return None
        return validate(_Planned, {"replicates": there.get("replicates")}, self.file).replicates

    def network(self) -> NetworkConfig:
        """The configuration of its networks."""
        if self.tornets is not None:
            return self.tornets.config
        return load_network_config(self.document["network"])

    def require_same(self) -> None:
        """Raise InputError where the folder holds a study of something else."""
        if self.tornets is not None:
            checksums = self.folder / self.tornets.checksums
            if checksums.is_file() and checksums.read_text().split() != list(self.tornets.content):
                raise self._other(f"{self.tornets.name} as it was: the network has changed since")
        if not self.file.is_file():
            return
        there = read_yaml(self.file)
        for key in {**there, **self.document}:
            if key not in MAY_DIFFER and there.get(key) != self.document.get(key):
                raise self._other(f"something else: {key} differs in {self.file.name}")
        for name, patch in self.patches.items():
            copy = self.folder / PATCHES / name
            if copy.is_file() and sha256_of_file(copy) != sha256_of_file(patch):
                problem = f"holds another patch of this name than {patch}"
                raise InputError(problem, file=copy, accepted="another --study, or the patch as it was")

    def _other(self, what: str) -> InputError:
        problem = f"holds a study of {what}"
        return InputError(problem, key="--study", value=str(self.folder), accepted="another folder")

    def write(self) -> None:
        """Write its folder, or bring the number of networks in it up to date."""
        self.require_same()
        write_study(self.folder, self.name, yaml_text(self.document))
        if self.tornets is not None:
            write_text(self.folder / self.tornets.file, yaml_text(self.tornets.document(self.folder)))
            write_text(self.folder / self.tornets.checksums, "\n".join([*self.tornets.content, ""]))
        for name, patch in self.patches.items():
            copy = self.folder / PATCHES / name
            if not copy.is_file():
                with whole_file(copy) as place:
                    shutil.copyfile(patch, place)


def make_study(
    change: TorChange,
    setup: Setup,
    network: str,
    folder: Path | None,
    command: str,
    tornets: Tornets | None = None,
) -> Study:
    """The study of ``change`` on ``network``, in ``folder`` or in one named after it; nothing is written.

    ``command`` is the command line that asks for it.
    """
    name = f"compare_{change.level}" if is_rule(change.level) else change.level
    # What the folder is called must not depend on where it is: paths in it are relative to it.
    about = _document(change, setup, network, Path("/"), tornets)
    question = {key: value for key, value in about.items() if key not in MAY_DIFFER}
    content = [change.content, question, *(tornets.content if tornets is not None else ())]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:6]
    where = folder if folder is not None else STUDIES / f"{name}-{digest}"
    if tornets is None:
        _require_network(network, where)
    document = _document(change, setup, network, where.resolve(), tornets)
    document["report"]["source"] = command
    file = where / EXPERIMENTS_DIRECTORY / name / EXPERIMENT_FILE
    if file.is_file() and setup.first_seed is None:
        # The networks that the user has chosen there.
        document["first_seed"] = read_yaml(file).get("first_seed", document["first_seed"])
    document["precision"] = {"looks": with_look(_looks(where, file), setup.networks)}
    if spread := _known_spread(file, document, setup):
        document["precision"]["spread"] = spread
    paths = [Path(patch) for tor in change.tors.values() for patch in tor.get("patches", ())]
    patches = {path.name: path for path in paths}
    tors = {key: validate(TorSource, entry, "--candidate") for key, entry in change.tors.items()}
    if DEBIANS_TOR.name in change.knobs.get("tor", (DEBIANS_TOR.name,)):
        tors[DEBIANS_TOR.name] = validate(TorSource, DEBIANS_TOR.entry, None)
    builds = {key: tor for key, tor in tors.items() if not tor.named}
    return Study(where, name, document, patches, builds, tornets)


def _known_spread(file: Path, document: Mapping[str, Any], setup: Setup) -> list[dict[str, Any]]:
    """The known spread by chance; for a study that has begun, the one that its ``file`` states."""
    if file.is_file():
        return list((read_yaml(file).get("precision") or {}).get("spread") or ())
    measured_s = setup.measured / SECOND_NS
    return known_spread(document["network"], document["engines"], setup.era, setup.pairing, measured_s)


def _looks(folder: Path, file: Path) -> dict[int, float]:
    """The looks at the study in ``folder``; where their record has gone and a summary is there, those that
    its experiment ``file`` states."""
    looks = read_looks(file)
    if looks or not file.is_file() or not (folder / "results/summaries").is_dir():
        return looks
    return dict(load_experiment(file).precision.looks)


def _require_network(network: str, folder: Path) -> None:
    """Raise InputError for a network of the working directory, which a study elsewhere does not find."""
    file = network_path(network)
    if file.resolve().is_relative_to(CHECKOUT.resolve()) or (folder / file).is_file():
        return
    problem = f"is in this folder, where the study {folder} does not look"
    accepted = "a network that ships, or one of the study: `--study .` in a folder that `torsweep new` made"
    raise InputError(problem, key="--network", value=network, accepted=accepted)


def _document(
    change: TorChange, setup: Setup, network: str, folder: Path, tornets: Tornets | None
) -> dict[str, Any]:
    """experiment.yaml, its paths relative to ``folder``."""
    sampled = tornets is None
    config = load_network_config(network) if sampled else None
    perf = config is None or config.perf_clients
    cannot_show = "" if config is None else refusal(change, network, config.relay_count)
    kinds = ["web", "bulk", *(["onion"] if config and config.onion_clients else [])]
    tors = {name: _entry(entry, folder) for name, entry in change.tors.items()}
    levels = {"tors": tors, "options": change.options}
    sides = (change.level, change.baseline[change.knob])
    clients = " and ".join(kinds) if sampled else "perf"
    usual = read_yaml(CHECKOUT / EXPERIMENTS_DIRECTORY / TRAFFIC_OF / EXPERIMENT_FILE)["traffic"]
    document = {
        "question": f"What do {clients} clients notice of {change.title}?",
        "report": {"title": change.title, "source": "", "names": {change.level: change.short_words}},
        "engines": engines_of_tor() if sampled else [TORNET_ENGINE],
        "network": network,
        "replicates": setup.networks,
        "precision": {},
        "first_seed": 1 if setup.first_seed is None else setup.first_seed,
        **setup.keys(),
        **{key: value for key, value in levels.items() if value},
        "knobs": change.knobs,
        "baseline": change.baseline,
        # Under Shadow nothing else tells how far an unfinished download of Arti has come.
        **({"progress": True} if change.has_arti else {}),
        "traffic": {kind: usual[_LIKE.get(kind, kind)] for kind in kinds} if sampled else {},
        "figures": (_FIGURES if sampled else ()) + (_PERF_FIGURES if perf else ()),
        "claims": list(claims_of_study(config, change.knob, *sides, setup.about, cannot_show)),
    }
    # As YAML gives it back: lists for tuples.
    return dict(json.loads(json.dumps(document)))


def _entry(entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """An entry of ``tors:`` with paths relative to the study; patches are those of its copies."""
    relative = dict(entry)
    for key in ("git", "source", "program", "arti"):
        if str(entry.get(key, "")).startswith("/"):
            relative[key] = os.path.relpath(entry[key], folder)
    if "patches" in entry:
        relative["patches"] = [str(PATCHES / Path(patch).name) for patch in entry["patches"]]
    return relative


def yaml_text(document: Mapping[str, Any]) -> str:
    """``document`` as YAML, in its order, to be read and edited."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
