"""Valid documents of every format that a command reads, made by the program, and the command that reads each.

In: a folder. Out: :data:`TARGETS`' files in it. A target's command reads its file from ``in/`` and writes, if
at all, to ``out/out``.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from tests.directory_texts import consensus_text, descriptor_text
from tests.prepared_runs import prepared_run
from tests.small_network import equal_rtts, small_network
from tests.synthetic import Size, gathered, summarized, write_sweep
from torsweep.config.experiment import load_experiment
from torsweep.formats.yaml_file import read_yaml
from torsweep.network.bandwidth_weights import WEIGHTS_OF_HOPS
from torsweep.network.clients import BANDWIDTH_FILE
from torsweep.network.latency import MODEL_FILE
from torsweep.network.model import LATENCY_FILE, NETWORK_FILE, write_network
from torsweep.network.relays import POPULATION_FILE
from torsweep.network.relays_import import import_relays

BYTES = ("flip", "cut", "end", "overwrite")
LINES = (*BYTES, "word", "word", "drop_line", "double_line")
TREE = ("drop", "rename", "replace")
PARQUET = (*BYTES, "retype", "retype")
DOCUMENT = (*BYTES, *TREE, "replace", "replace", "replace")
"""Kinds of damage: to any bytes, to lines of words, to a tree, to a JSON document."""


@dataclass(frozen=True)
class Target:
    """A file that a command reads: ``make`` writes the folder ``in``, ``file`` is what is damaged.

    ``arguments`` are torsweep's, or name a function, with ``{in}`` and ``{out}`` for the folders; ``marker``
    is the file of an output that is whole.
    """

    name: str
    file: str
    kinds: tuple[str, ...]
    arguments: tuple[str, ...]
    make: Callable[[Path], None]
    marker: str | None = None


EXPERIMENTS = Path(__file__).parents[2] / "experiments"
HOSTS = 12
SWEEP_KNOBS = {"refill_interval": ["100ms", "10ms"], "circuit_policy": ["ewma"]}


def _network_yaml(folder: Path) -> None:
    document = {
        "relays": 5,
        "web_clients": 3,
        "bulk_clients": 1,
        "servers": 2,
        "authorities": 1,
        "load": 1,
        "relay_population": "2012",
        "client_bandwidth": {"rate": "10 Mbit/s"},
        "latency": "planetlab",
        "server_bandwidth": "100 Mbit/s",
        "access_delay": {"median": "1 ms", "sigma": 0.5, "maximum": "20 ms"},
        "positions": {"guard": 2, "exit": 1, "guard_exit": 1, "middle": 1},
    }
    (folder / "net.yaml").write_text(json.dumps(document))


def _experiment_yaml(name: str, folder: Path) -> None:
    document = read_yaml(EXPERIMENTS / name / "experiment.yaml")
    (folder / "experiment.yaml").write_text(json.dumps(document))


FUZZED_CONFIG = {"relays": 5, "web_clients": 1, "bulk_clients": 1, "servers": 1, "load": 1.0}


def _fuzzed_network(folder: Path) -> None:
    made = small_network(
        ("guard_exit", "exit", "guard", "guard", "middle"), ["web1", "bulk1"], config=FUZZED_CONFIG
    )
    made = made.model_copy(update={"bandwidth_weights": dict.fromkeys(WEIGHTS_OF_HOPS, 5000)})
    write_network(made, equal_rtts(made), folder / "network")


def _sampled_from(key: str, table: str, folder: Path) -> None:
    """A network's configuration that names the imported table ``table`` under ``key``."""
    _network_yaml(folder)
    document = json.loads((folder / "net.yaml").read_text())
    document.pop("positions")
    document[key] = {"file": str(folder / "table" / table)}
    (folder / "net.yaml").write_text(json.dumps(document))
    _MAKERS[key](folder)


def _latency_table(folder: Path) -> None:
    (folder / "table").mkdir()
    shutil.copy(Path(__file__).parents[2] / "topologies/latency/planetlab.npz", folder / "table" / MODEL_FILE)


def _bandwidth_table(folder: Path) -> None:
    source = Path(__file__).parents[2] / "topologies/bandwidth/netindex-2012.json"
    document = json.loads(source.read_text())
    document["down_bytes_per_s"] = document["down_bytes_per_s"][::20]
    (folder / "table").mkdir()
    (folder / "table" / BANDWIDTH_FILE).write_text(json.dumps(document))


def _relay_table(folder: Path) -> None:
    _relayinfo(folder)
    import_relays(folder / "relayinfo.json", "relayinfo", folder / "table")


_MAKERS = {
    "latency": _latency_table,
    "client_bandwidth": _bandwidth_table,
    "relay_population": _relay_table,
}


def _matrix(folder: Path) -> None:
    place = np.random.default_rng(1).uniform(5, 100, (HOSTS, 2))
    apart = np.sqrt(((place[:, None] - place[None]) ** 2).sum(axis=2)) + 5
    np.fill_diagonal(apart, 0)
    text = "\n".join(" ".join(f"{cell:.1f}" for cell in row) for row in apart)
    (folder / "matrix.txt").write_text(text + "\n")
    (folder / "matrix.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def _relayinfo(folder: Path) -> None:
    rng = np.random.default_rng(2)
    relays = {
        f"R{number}": {
            "bandwidth_capacity": int(rng.integers(10**5, 10**7)),
            "bandwidth_rate": 1_000_000,
            "bandwidth_burst": 2_000_000,
            "weight": 0.05,
            "running_frequency": 1.0,
            "guard_frequency": float(number % 2),
            "exit_frequency": float(number % 3 == 0),
        }
        for number in range(12)
    }
    (folder / "relayinfo.json").write_text(json.dumps({"relays": relays}))


def _rates(folder: Path) -> None:
    tiles = pl.DataFrame(
        {"avg_d_kbps": [1000, 50_000, 90_000], "avg_u_kbps": [500, 9000, 40_000], "tests": [1, 9, 2]}
    )
    tiles.write_csv(folder / "tiles.csv")
    tiles.write_parquet(folder / "tiles.parquet")


def _directory(folder: Path) -> None:
    (folder / "consensus").write_text(consensus_text())
    (folder / "descriptors").write_text("".join(descriptor_text(number) for number in range(4)))


def _run(folder: Path) -> None:
    size = Size(web_clients=3, bulk_clients=2, relays=2, warm_up_s=5, duration_s=20)
    run, *_ = write_sweep(folder, SWEEP_KNOBS, (1,), size)
    run.rename(folder / run.name)
    (folder / "1").rename(folder / "others")


RUN = "run"
"""The folder of a run that cellsim is to make: a second of simulated time on a small network."""


def _prepared(folder: Path) -> None:
    _fuzzed_network(folder)
    asked = {"warm_up": "0 s", "measured": "1 s", "client_start_window": "0 s"}
    prepared_run(folder / "network", folder / RUN, "guards=1", **asked).write(folder / RUN)


RUN_NAME = "refill_interval=100ms+circuit_policy=ewma"


def _plan(folder: Path) -> None:
    size = Size(web_clients=4, bulk_clients=2, relays=2, warm_up_s=5, duration_s=20)
    work = folder.parent / "work"
    runs = write_sweep(work, SWEEP_KNOBS, (1, 2), size)
    tables = gathered(runs, folder, network="tiny")
    summarized(tables, load_experiment(EXPERIMENTS / "refill_sweep"), folder)


def _tarball(folder: Path) -> None:
    with tarfile.open(folder / "tor.tar.gz", "w:gz") as archive:
        for name in ("configure", "src/app/main.c"):
            content = b"PACKAGE_NAME='tor'\nPACKAGE_VERSION='0.4.9.1'\n" * 20
            entry = tarfile.TarInfo(f"tor-0.4.9.1/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


_SAMPLE = ("network", "sample", "{in}/net.yaml", "--seed", "1", "--out", "{out}")
_DESCRIBE = ("network", "describe", "{in}/network")
_CHECK = ("config", "check", "{in}/experiment.yaml")
_OTHER = ("other YAML", "{in}/experiment.yaml", "{out}")
_COLLECT = ("collect", f"{{in}}/{RUN_NAME}", "{out}")
_SUMMARIZE = ("summarize", "{in}/tables", "{out}")

_Make = Callable[[Path], None]


def _latency(file: str, kinds: tuple[str, ...] = LINES) -> Target:
    command = ("latency", "import", f"{{in}}/{file}", "--unit", "ms", "--out", "{out}")
    return Target(file, file, kinds, command, _matrix, MODEL_FILE)


def _bandwidth(file: str, kinds: tuple[str, ...] = LINES) -> Target:
    command = ("bandwidth", "import", f"{{in}}/{file}", "--out", "{out}")
    return Target(file, file, kinds, command, _rates, BANDWIDTH_FILE)


def _relays(file: str, file_format: str, make: _Make, kinds: tuple[str, ...], *more: str) -> Target:
    source = "consensus" if file == "descriptors" else file
    command = ("relays", "import", f"{{in}}/{source}", "--format", file_format, "--out", "{out}", *more)
    return Target(file, file, kinds, command, make, POPULATION_FILE)


def _sampled(key: str, file: str, kinds: tuple[str, ...] = DOCUMENT) -> Target:
    return Target(file, f"table/{file}", kinds, _SAMPLE, partial(_sampled_from, key, file), NETWORK_FILE)


def _plain_yaml(folder: Path) -> None:
    shutil.copy(EXPERIMENTS / "scheduler_choice" / "experiment.yaml", folder)


def _experiment(name: str) -> Target:
    return Target(name, "experiment.yaml", DOCUMENT, _CHECK, partial(_experiment_yaml, name))


_DESCRIPTORS = ("--descriptors", "{in}/descriptors")
_NPY, _JSON = f"network/{LATENCY_FILE}", f"network/{NETWORK_FILE}"
_STREAMS = f"{RUN_NAME}/streams.parquet"

TARGETS: dict[str, tuple[Target, ...]] = {
    "YAML": (
        Target("network", "net.yaml", DOCUMENT, _SAMPLE, _network_yaml, NETWORK_FILE),
        _experiment("nagle"),
        _experiment("scheduler_choice"),
        Target("lines", "experiment.yaml", (*LINES, "nest", "nest"), _CHECK, _plain_yaml),
        Target("other", "experiment.yaml", (*LINES, "nest"), _OTHER, _plain_yaml),
    ),
    "JSON": (
        Target("network.json", _JSON, DOCUMENT, _DESCRIBE, _fuzzed_network),
        Target("run.json", f"{RUN_NAME}/run.json", DOCUMENT, _COLLECT, _run),
        Target("provenance.json", f"{RUN_NAME}/provenance.json", DOCUMENT, _COLLECT, _run),
        _relays("relayinfo.json", "relayinfo", _relayinfo, DOCUMENT),
        _sampled("relay_population", POPULATION_FILE),
        _sampled("client_bandwidth", BANDWIDTH_FILE),
    ),
    "NumPy": (
        Target("latency.npy", _NPY, BYTES, _DESCRIBE, _fuzzed_network),
        _sampled("latency", MODEL_FILE, BYTES),
    ),
    "Parquet": (
        _bandwidth("tiles.parquet", PARQUET),
        Target("streams of a run", _STREAMS, PARQUET, _COLLECT, _run),
        Target("tables of a plan", "tables/streams.parquet", PARQUET, _SUMMARIZE, _plan),
    ),
    "CSV": (_bandwidth("tiles.csv"),),
    "text": (
        _latency("matrix.txt"),
        _latency("matrix.gz", BYTES),
    ),
    "consensus": (
        _relays("consensus", "consensus", _directory, LINES, *_DESCRIPTORS),
        _relays("descriptors", "consensus", _directory, LINES, *_DESCRIPTORS),
    ),
    "tarball": (Target("tarball", "tor.tar.gz", BYTES, ("unpack", "{in}/tor.tar.gz", "{out}"), _tarball),),
    "run directory": tuple(
        Target(Path(file).name, file, kinds, ("cellsim", "{in}", "{out}"), _prepared)
        for file, kinds in ((f"{RUN}/run.json", DOCUMENT), (_JSON, DOCUMENT), (_NPY, BYTES))
    ),
}
"""By format; each command reads the file whose damage it has to survive."""
