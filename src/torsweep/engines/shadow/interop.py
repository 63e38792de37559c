"""A Shadow run in the shape that tornettools reads, for its ``parse`` and ``plot``.

In: a run directory with the kept logs of its hosts. Out: a directory with ``shadow.data/hosts``,
``shadow.log``, ``free.log``, a ``tornettools.generate`` log, and ``hosts.json``, which says who is who.

tornettools knows hosts by their names: clients become ``perfclientNexit``, relays keep ``relay…``. Where a
network has perf clients, only these do, and the others become ``markovclientN``, which it leaves alone. It
takes the name from the log itself, and skips OnionTrace's events before a line that runs of torsweep do not
log; the copies have both. A run has one number each for memory and speed, so their curves have two points.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from torsweep.config.traffic import PERF_KINDS
from torsweep.engines.run_spec import RunSpec, read_run
from torsweep.engines.shadow.layout import HOSTS_FOLDER, SHADOW_FOLDER, Layout, read_layout
from torsweep.engines.shadow.read.logs import Log, find_logs
from torsweep.errors import InputError
from torsweep.formats.json_file import read_json
from torsweep.formats.text import text_lines
from torsweep.provenance import PROVENANCE_FILE
from torsweep.storage import whole_directory
from torsweep.storage.folders import TORNETTOOLS_FOLDER

_HOST_NAMED = re.compile(r"(Initializing TGen v|Starting OnionTrace v)(.* on host )(\S+)")
_BOOTSTRAPPED = "[message] [_oniontracetorctl_processLine] torctl client is now ready (Bootstrapped 100)"


def lay_out_for_tornettools(run_directory: Path, out: Path) -> tuple[dict[str, str], int]:
    """Write ``out`` from the run in ``run_directory``; an earlier ``out`` of this function is replaced.

    Returns host in the run to host in the copy, and the seconds to cut off the start with ``parse -c``.
    Raises InputError when the run has no logs of its clients any more, or ``out`` is something else.
    """
    run, folder = read_run(run_directory), run_directory / SHADOW_FOLDER
    layout = read_layout(folder)
    kinds = layout.clients
    measuring = [client for client in kinds if kinds[client] in PERF_KINDS] or list(kinds)
    others = sorted(kinds.keys() - measuring)
    clients = {client: f"perfclient{n}exit" for n, client in enumerate(measuring, start=1)}
    clients |= {client: f"markovclient{n}" for n, client in enumerate(others, start=1)}
    relays = {relay: relay if "relay" in relay else f"relay-{relay}" for relay in layout.relays}
    names = clients | relays
    tgen = find_logs(folder / HOSTS_FOLDER, "tgen", clients)
    if not tgen:
        raise InputError(
            "no log of a TGen client", file=folder / HOSTS_FOLDER, accepted="the kept logs of a run"
        )
    traces = find_logs(folder / HOSTS_FOLDER, "oniontrace", names)
    with whole_directory(out, TORNETTOOLS_FOLDER) as place:
        for log in tgen:
            _copy(log, names[log.host], "tgen", place, _renamed(log, names))
        for log in traces:
            _copy(log, names[log.host], "oniontrace", place, _bootstrapped(_renamed(log, names)))
        _write_cost(run_directory / PROVENANCE_FILE, place)
        (place / "tornettools.generate.torsweep.log").write_text(_generated(run, layout, len(measuring)))
        (place / "hosts.json").write_text(json.dumps(names, indent=1, sort_keys=True) + "\n")
    return names, (layout.bootstrap_ns + run.warm_up_ns) // 10**9


def _copy(log: Log, name: str, program: str, place: Path, lines: Iterator[str]) -> None:
    folder = place / "shadow.data/hosts" / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{program}.1000.stdout").open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _renamed(log: Log, names: dict[str, str]) -> Iterator[str]:
    for line in text_lines(log.path):
        match = _HOST_NAMED.search(line)
        yield line if match is None else f"{line[: match.start(3)]}{names[log.host]}{line[match.end(3) :]}"


def _bootstrapped(lines: Iterator[str]) -> Iterator[str]:
    """``lines`` with the line after which oniontracetools listens, before the first that tor sent."""
    waiting = True
    for line in lines:
        waiting = waiting and "Bootstrapped 100" not in line
        if waiting and " Logger: " in line:
            yield f"{' '.join(line.split(' ', 3)[:3])} {_BOOTSTRAPPED}"
            waiting = False
        yield line


def _write_cost(provenance: Path, place: Path) -> None:
    """shadow.log and free.log with the wall time and the peak memory of the run, where they are known.

    tornettools takes seconds of wall time from the start of a line that names the simulated time, and memory
    from the output of ``free`` under a time; it subtracts the first entry, which is 0.
    """
    if not provenance.is_file():
        return
    cost = read_json(provenance)
    wall_s, simulated_s = float(cost["wall_s"]), float(cost["simulated_s"])
    with (place / "shadow.log").open("w", encoding="utf-8") as file:
        for at_s, simulated in ((0.0, 0.0), (wall_s, simulated_s)):
            clock = f"{int(at_s) // 3600:02d}:{int(at_s) // 60 % 60:02d}:{at_s % 60:09.6f}"
            file.write(
                f"{clock} [1:shadow] n/a [INFO] [n/a] [torsweep] [provenance]"
                f" Process resource usage at simtime {round(simulated * 1e9)} wall_s={at_s}\n"
            )
    total = int(cost["machine"]["memory_bytes"])
    with (place / "free.log").open("w", encoding="utf-8") as file:
        for at_s, used in ((0.0, 0), (wall_s, int(cost["peak_memory_bytes"]))):
            file.write(
                f"{at_s} seconds UTC\n{'total':>20} used available\nMem: {total} {used} {total - used}\n"
            )


def _generated(run: RunSpec, layout: Layout, measuring: int) -> str:
    """What tornettools asks of the log of its ``generate``; the network is no scaled copy of another one."""
    relays, authorities = len(layout.relays), len(layout.authorities)
    servers = len(set(layout.servers.values()))
    return "\n".join(
        [
            f"Seeded standard and numpy PRNGs with seed={run.seed}",
            f"Chose {relays} of {relays} relays using scale factor 1.0",
            f"Generated fingerprints and keys for {relays + authorities} Tor nodes"
            f" ({authorities} authorities and {relays} relays)",
            f"We will use {measuring} exit perf nodes to benchmark Tor exit performance",
            f"We will use {servers} TGen exit servers and 0 TGen onion-service servers",
            "",
        ]
    )
