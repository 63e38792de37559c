"""How far a run fell behind real time, from the files that it left.

In: a run directory with provenance.json, or with ``processes/pace.json`` alone, which a refused run leaves.
Out: the longest mean wait of a process before a turn, and the share of packets that were late.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torsweep.engines.emulation.run.engine import PROCESS_FOLDER
from torsweep.engines.emulation.run.pace import LEAST_RAN
from torsweep.formats.json_file import read_json
from torsweep.provenance import PROVENANCE_FILE


@dataclass(frozen=True)
class KeptUp:
    """``slowest`` is the process that waited longest, ``delay_ms`` its mean wait before a turn, in ms.

    ``late_share`` is the share of packets handed over more than 1 ms late; None for a refused run.
    """

    slowest: str
    delay_ms: float
    late_share: float | None


def kept_up(run_directory: Path) -> KeptUp:
    """The account of the run in ``run_directory``; InputError when it left none."""
    file = run_directory / PROVENANCE_FILE
    provenance = read_json(file) if file.is_file() else {}
    pace = provenance.get("pace") or read_json(run_directory / PROCESS_FOLDER / "pace.json")
    waits = [(seen["delay_ms"], name) for name, seen in pace.items() if seen["ran"] >= LEAST_RAN]
    delay_ms, slowest = max(waits, default=(0.0, ""))
    return KeptUp(slowest, delay_ms, provenance.get("late_share"))
