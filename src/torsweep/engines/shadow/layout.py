"""What readers of a simulation's logs have to know, which hosts are captured, and which files are kept.

In: the ``shadow`` folder. Out: :class:`Layout` from ``layout.json``; the folder with compressed logs.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from torsweep.config.reading import validate
from torsweep.config.tracing import Tracing
from torsweep.formats.json_file import read_json
from torsweep.network.model import Network
from torsweep.storage import write_text


def captured_hosts(tracing: Tracing | None, network: Network) -> list[str]:
    """All hosts that may be on the way of a followed download; no host if no download is followed, or if no
    cells are traced that lead from host to host."""
    if tracing is None or not tracing.downloads or not tracing.hosts:
        return []
    clients = [client.name for client in network.clients]
    return [*tracing.hosts, *clients, *(server.name for server in network.servers)]


_KEPT_SUFFIXES = (".stdout", ".stderr", ".graphml", ".log")


def compress_logs(folder: Path) -> None:
    """Compress the logs of every host in ``folder`` and remove the rest of its files.

    The graph, the keys and what tor keeps in its data directories go: run.json and the network give them
    again. Empty logs go too. While a plain log is there, it counts before a compressed one.
    """
    for made in ("template", "graph.gml"):
        _remove(folder / made)
    for entry in sorted((folder / HOSTS_FOLDER).glob("*/*")):
        if entry.suffix == ".gz":
            continue
        if not entry.is_dir() and entry.suffix in _KEPT_SUFFIXES and entry.stat().st_size:
            packed = entry.with_name(f"{entry.name}.gz")
            with entry.open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as file:
                shutil.copyfileobj(plain, file)
        _remove(entry)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


LAYOUT_FILE = "layout.json"

SHADOW_FOLDER = "shadow"
"""Below a run directory: everything that Shadow reads and leaves."""

HOSTS_FOLDER = "data/hosts"
"""Below the ``shadow`` folder: a folder for each host, in it ``PROGRAM.PID.stdout`` of each of its
processes."""


@dataclass(frozen=True)
class Layout:
    """Times and names of a simulation.

    The run's time 0 is ``epoch_s`` (the simulated wall clock at Shadow's start, seconds since 1970) plus
    ``bootstrap_ns``, and the run ends ``duration_ns`` later. ``clients`` gives the kind of each client
    with a tor, ``relays`` and ``authorities`` the fingerprint of each by name, ``servers`` the name by
    address, that of an onion service too.
    """

    epoch_s: int
    bootstrap_ns: int
    duration_ns: int
    clients: Mapping[str, str]
    relays: Mapping[str, str]
    authorities: Mapping[str, str]
    servers: Mapping[str, str]

    def write(self, folder: Path) -> None:
        """Write layout.json into ``folder``."""
        write_text(folder / LAYOUT_FILE, json.dumps(asdict(self), indent=1, sort_keys=True) + "\n")


def read_layout(folder: Path) -> Layout:
    """The layout in ``folder``; InputError when it is missing or of another version."""
    file = folder / LAYOUT_FILE
    return validate(Layout, read_json(file), file)
