"""What leaves this machine: all of a plan's results as a folder, with provenance, and as one zip.

In: the folders that the stages of the pipeline left. Out: a folder with checksums and its README; a zip of
it; and :func:`require_whole`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torsweep import __version__
from torsweep.config.eras import ERAS_DIRECTORY
from torsweep.config.experiment import EXPERIMENTS_DIRECTORY, Experiment, load_experiment
from torsweep.config.network import NETWORKS_DIRECTORY
from torsweep.engines.run_spec import RUN_FILE, RunSpec, finished_run, read_run
from torsweep.errors import InputError
from torsweep.formats.archives import write_zip
from torsweep.formats.files import MIB, read_bytes, read_json
from torsweep.home import CHECKOUT, find, find_all, shown
from torsweep.network.model import NETWORK_FILE, Network, read_network
from torsweep.pipeline.made_with import MADE_WITH, made_with
from torsweep.provenance import PROVENANCE_FILE, machine, sha256_of_file, versions
from torsweep.runsets.plan_tables import PlanTables, Provenance
from torsweep.source_keys import source_files
from torsweep.stats.likeness import own_public_tor
from torsweep.stats.listing import own_modules
from torsweep.stats.statistic import origin_of, read_plan
from torsweep.storage import whole_directory, whole_file
from torsweep.storage.folders import (
    EXPERIMENT_FILE,
    MARKER,
    PAGE_FILE,
    PUBLISHED_FOLDER,
    README_FILE,
    SUMS_FILE,
)
from torsweep.study.new import shared_texts
from torsweep.study.portable import portable_experiment, portable_network, repeat_command, repeat_overrides
from torsweep.tor.repository import Commit, archive


@dataclass(frozen=True)
class Sources:
    """The parts of a plan that a bundle has: folders, two files, and runs."""

    tables: Path
    summaries: Path
    figures: Path
    page: Path
    experiment: Path
    runs: Sequence[Path]


def publish(sources: Sources, settings: Mapping[str, object], out: Path) -> None:
    """Write the folder ``out`` as a whole; InputError when something is missing, changed, or of another plan.

    ``settings`` are the keys of experiment.yaml that were replaced when the claims were judged.
    """
    for directory in sources.runs:
        finished_run(directory)
    runs = [read_run(directory) for directory in sources.runs]
    origin = PlanTables.open(sources.tables).provenance
    _require_one_plan(sources, origin)
    experiment = load_experiment(sources.experiment, settings)
    _require_of_plan(sources, experiment, origin)
    with whole_directory(out, PUBLISHED_FOLDER) as folder:
        _copy(sources.tables, folder / "tables")
        _copy(sources.summaries, folder / "summaries")
        _copy(sources.figures, folder / "figures", {f"{name}.*" for name in experiment.figures})
        shutil.copyfile(sources.page, folder / PAGE_FILE)
        document = {**_provenance(origin, runs, sources.runs), "settings": dict(settings)}
        _write(folder / PROVENANCE_FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        public, study = own_public_tor(sources.summaries), folder / "study"
        missing = write_study_of(sources.experiment, experiment.name, origin.network, public, study)
        written = study / EXPERIMENTS_DIRECTORY / experiment.name / EXPERIMENT_FILE
        shutil.copyfile(written, folder / EXPERIMENT_FILE)
        overrides = repeat_overrides(origin, experiment, settings, public and public.name)
        _write(folder / README_FILE, _readme(origin, missing, overrides))
        _write(folder / SUMS_FILE, sums_text(folder))


def pack(folder: Path, zip_file: Path) -> None:
    """Write the published result ``folder`` to ``zip_file``, its README first; InputError if it changed."""
    require_whole(folder)
    names = sorted(bundle_files(folder), key=lambda name: (name != README_FILE, name))
    with whole_file(zip_file) as temporary:
        write_zip(folder, names, temporary)


def _require_one_plan(sources: Sources, origin: Provenance) -> None:
    collected = {run["run_sha256"] for run in origin.runs}
    if collected != {sha256_of_file(directory / RUN_FILE) for directory in sources.runs}:
        raise InputError("are of other runs than those given", file=sources.tables)
    plan = origin_of(read_plan(sources.summaries))
    if plan != json.loads(origin.to_json()):
        raise InputError("are of other tables than those given", file=sources.summaries)


def _require_of_plan(sources: Sources, experiment: Experiment, origin: Provenance) -> None:
    """InputError unless experiment and figures are those of the plan whose tables are ``origin``'s."""
    if experiment.name != origin.experiment:
        problem, accepted = "is another experiment", origin.experiment
        raise InputError(problem, file=sources.experiment, value=experiment.name, accepted=accepted)
    for figure in (sources.figures / f"{name}.png" for name in experiment.figures):
        if not figure.is_file():
            raise InputError("no such figure", file=figure, accepted="the plan's figures")


def _provenance(
    origin: Provenance, runs: Sequence[RunSpec], directories: Sequence[Path]
) -> dict[str, object]:
    networks = {
        run.network_sha256: _network(run, folder) for run, folder in zip(runs, directories, strict=True)
    }
    return {
        "experiment": origin.experiment,
        "plan": origin.plan,
        "era": origin.era,
        "engine": origin.engine,
        "network": origin.network,
        "networks": [
            {"seed": network.seed, "network_sha256": sha256, "config": network.config}
            for sha256, network in sorted(networks.items(), key=lambda entry: (entry[1].seed, entry[0]))
        ],
        "published_with": {**made_with(), "versions": dict(versions()), "machine": dict(machine())},
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


def _copy(source: Path, folder: Path, patterns: Iterable[str] = ("*",)) -> None:
    """Copy what in ``source`` has a name like ``patterns``, but not its time: a copy is newer than it."""
    folder.mkdir()
    for file in sorted({file for pattern in patterns for file in source.glob(pattern)}):
        if not file.name.startswith("."):
            shutil.copyfile(file, folder / file.name)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _readme(origin: Provenance, missing: Sequence[str], overrides: Mapping[str, str]) -> str:
    first = ", after these have been put there:" if missing else ":"
    listed = "".join(f"\n- {what}" for what in missing) + ("\n" if missing else "")
    return f"""# {origin.experiment}: {origin.plan}

Made by torsweep with the engine {origin.engine}, in the era {origin.era}, on networks of `{origin.network}`.
cellsim is a model of tor; where it ran, these are a model's results.

- `report.html`: all of it as a page to read
- `figures/`: PDF and PNG, the points they plot as CSV, and their captions as text
- `summaries/`: medians, paired differences, curves and verdicts on the claims, with intervals
- `tables/`: every download of every run, and what each relay did, as Parquet
- `experiment.yaml`: the question, the knobs and the claims
- `provenance.json`: versions, networks, and what each run says about itself
- `study/`: what repeats it: the experiment with its modules, networks' configuration, sources, patches
- `SHA256SUMS`: check them with `sha256sum --check SHA256SUMS`

To make it again with torsweep {__version__} (another one says so), in the folder `study`{first}
{listed}
    {repeat_command(overrides, origin.experiment)}
"""


_OWN = {ERAS_DIRECTORY: "*.yaml", Path("topologies"): "*/*"}
"""Files that a study may have in place of those that ship."""


def write_study_of(
    experiment: Path, name: str, network: str, live_tor: Path | None, folder: Path
) -> list[str]:
    """Write the study of the experiment ``name`` in the file ``experiment``, on ``network``, to ``folder``.

    ``live_tor`` is a file of public Tor that it is compared with. What is returned, as sentences, has to be
    put into the folder before it can be run.
    """
    documents = {
        EXPERIMENTS_DIRECTORY / name / EXPERIMENT_FILE: portable_experiment(experiment),
        NETWORKS_DIRECTORY / f"{network}.yaml": portable_network(network),
    }
    texts = {str(MADE_WITH): json.dumps(made_with(), indent=1) + "\n", **shared_texts()}
    texts |= {str(file): one.text for file, one in documents.items()}
    for name_of, text in texts.items():
        _write(folder / name_of, text)
    files: dict[Path, Path | Commit] = {file: file for file in (*_own_files(), *_of_experiment(name))}
    if live_tor is not None:
        files[Path(live_tor.name)] = live_tor
    for document in documents.values():
        files |= document.files
    for file, source in files.items():
        place = folder / file
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, Commit):
            archive(source, place, f"tor-{source.commit}/")
        else:
            shutil.copyfile(find(source), place)
    return [what for document in documents.values() for what in document.missing]


def _of_experiment(name: str) -> Iterator[Path]:
    """What stands beside the experiment.yaml of ``name``, and the modules of other experiments it imports."""
    folder = EXPERIMENTS_DIRECTORY / name
    whole = [file for file in find_all(folder, "**/*") if file.is_file() and "__pycache__" not in file.parts]
    imported = (Path(file) for file in source_files(*own_modules(name)))
    modules = (file for file in imported if file.is_relative_to(EXPERIMENTS_DIRECTORY))
    yield from sorted({*modules, *(Path(shown(file)) for file in whole)} - {folder / EXPERIMENT_FILE})


def _own_files() -> Iterator[Path]:
    """Files of the working directory that are not as they ship."""
    for place, pattern in _OWN.items():
        for file in sorted(place.rglob(pattern)):
            ships = CHECKOUT / file
            if file.is_file() and not (ships.is_file() and ships.read_bytes() == file.read_bytes()):
                yield file


_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]+)\n")
_MOST_SUMS_BYTES = 8 * MIB


def bundle_files(folder: Path) -> list[str]:
    """The names of the files of the published result in ``folder``, in order, but for the folder's marker."""
    files = (file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    return sorted(name for name in files if name != MARKER)


def sums_text(folder: Path) -> str:
    """A line for each file in ``folder``, but for SHA256SUMS itself."""
    names = (name for name in bundle_files(folder) if name != SUMS_FILE)
    return "".join(f"{sha256_of_file(folder / name)}  {name}\n" for name in names)


def require_whole(folder: Path) -> None:
    """InputError, with the first difference, unless ``folder`` has the files of its SHA256SUMS, unchanged."""
    file = folder / SUMS_FILE
    content = read_bytes(file, _MOST_SUMS_BYTES, "no such file: this is no published result")
    text = content.decode("utf-8", errors="replace")
    stated = {name: sha256 for sha256, name in _LINE.findall(text)}
    if text != "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(stated.items())):
        raise InputError("is damaged", file=file, accepted="a line each file, as torsweep writes them")
    names = set(bundle_files(folder)) - {SUMS_FILE}
    for name in sorted(stated.keys() | names):
        if name not in names:
            raise InputError("is missing", file=folder / name)
        if name not in stated:
            raise InputError(f"is not in {SUMS_FILE}", file=folder / name)
        if sha256_of_file(folder / name) != stated[name]:
            raise InputError(f"has changed: its SHA-256 is not the one in {SUMS_FILE}", file=folder / name)
