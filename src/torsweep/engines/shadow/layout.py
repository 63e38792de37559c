"""What the readers of a run's logs have to know about the simulation: ``shadow/layout.json``.

In and out: :class:`Layout`, written beside shadow.yaml.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from torsweep.config.reading import validate_fields
from torsweep.formats.json_file import read_json
from torsweep.storage import write_text

LAYOUT_FILE = "layout.json"

HOSTS = "data/hosts"
"""Below the ``shadow`` folder: a folder for each host, in it ``PROGRAM.PID.stdout`` of each of its
processes."""


@dataclass(frozen=True)
class Layout:
    """Times and names of a simulation.

    The run's time 0 is ``epoch_s`` (the simulated wall clock at Shadow's start, seconds since 1970) plus
    ``bootstrap_ns``, and the run ends ``duration_ns`` later. ``clients`` gives the kind of each client,
    ``relays`` and ``authorities`` the fingerprint of each by name, ``servers`` the name by address.
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
    return validate_fields(Layout, read_json(file), file)
