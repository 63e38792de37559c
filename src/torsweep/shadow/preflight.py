"""A tiny simulation that shows whether Shadow gives a host the rates that it is asked for.

In: the tools. Out: the rates measured each way, kept by version of Shadow and TGen, or one line that the
rates are wrong. Shadow 3.3.0 and before can give a host its downstream rate both ways, depending on where
the rates are written; nothing in a long run would tell.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from torsweep.errors import TorsweepError
from torsweep.shadow.addresses import address
from torsweep.shadow.process import run_simulation
from torsweep.shadow.settings import SECOND_NS
from torsweep.shadow.simulate import Host, Process, Simulation
from torsweep.shadow.tools import Tools
from torsweep.shadow.traffic import graphml, server_graph
from torsweep.storage import write_text

KEPT = Path("results/tools/preflight")

DOWN_BYTES_PER_S = 1_000_000
UP_BYTES_PER_S = 250_000
SERVER_BYTES_PER_S = 12_500_000
MOVED_BYTES = 4_000_000
TOLERANCE = 0.1
"""Headers take 4 % of the rate, and the first round trips some more."""

_TIMES = re.compile(r"\[stream-success\].*vertexid=stream_(?P<way>down|up),.* times \[(?P<times>[^]]*)\]")


def require_preflight(tools: Tools, say: Callable[[str], None], kept_in: Path = KEPT) -> dict[str, float]:
    """The rates measured each way, bytes per second; measured once for a version.

    Raises TorsweepError when one is not the rate asked for, within :data:`TOLERANCE`.
    """
    name = hashlib.sha256(json.dumps(tools.told, sort_keys=True).encode()).hexdigest()[:16]
    file = kept_in / f"{name}.json"
    try:
        measured: dict[str, float] = json.loads(file.read_text(encoding="utf-8"))["measured"]
    except (OSError, ValueError, KeyError):
        measured = measure(tools)
        say(f"preflight: {measured['down'] / 1e6:.3f} MB/s down, {measured['up'] / 1e6:.3f} MB/s up")
        write_text(file, json.dumps({"measured": measured, "versions": tools.told}, indent=1) + "\n")
    check(measured, tools)
    return measured


def check(measured: dict[str, float], tools: Tools) -> None:
    """TorsweepError when ``measured`` is not what the preflight asks for."""
    asked = {"down": DOWN_BYTES_PER_S, "up": UP_BYTES_PER_S}
    for way, rate in asked.items():
        if abs(measured[way] - rate) > TOLERANCE * rate:
            raise TorsweepError(
                f"{tools.shadow}: gives hosts wrong rates: {rate / 1e6:g} MB/s {way} were asked for,"
                f" {measured[way] / 1e6:.3f} MB/s were measured ({tools.told['shadow']})"
            )


def measure(tools: Tools) -> dict[str, float]:
    """Move bytes down to a host and up from it, one after the other; payload bytes per second each way."""
    with tempfile.TemporaryDirectory(prefix="torsweep-preflight-") as temporary:
        folder = Path(temporary)
        write_text(folder / "graph.gml", _graph())
        hosts = folder / "template" / "hosts"
        write_text(hosts / "server" / "tgen.graphml", server_graph())
        write_text(hosts / "client" / "tgen.graphml", _client_graph())
        environment = {"OPENBLAS_NUM_THREADS": "1"}
        simulation = Simulation(
            {
                "server": Host(0, address(0), [Process(tools.tgen, ["tgen.graphml"], 0, environment)]),
                "client": Host(1, address(1), [Process(tools.tgen, ["tgen.graphml"], SECOND_NS, environment)]),
            },
            stop_ns=120 * SECOND_NS,
            seed=1,
            parallelism=1,
        )
        run_simulation(simulation, folder, tools)
        log = next((folder / "data" / "hosts" / "client").glob("tgen.*.stdout")).read_text()
    rates = {}
    for match in _TIMES.finditer(log):
        way, direction = match["way"], {"down": "recv", "up": "send"}[match["way"]]
        times = dict(part.split("=") for part in match["times"].split(","))
        # Payload is under way from its first byte until the other end has counted all of it.
        begun = int(times[f"usecs-to-first-byte-{direction}"])
        done = int(times[f"usecs-to-checksum-{direction}"])
        rates[way] = MOVED_BYTES / (done - begun) * 1e6
    if set(rates) != {"down", "up"}:
        raise TorsweepError(f"{tools.tgen}: moved no bytes in the preflight: {log.splitlines()[-1:]}")
    return rates


def _client_graph() -> str:
    common = {"peers": "server:80", "timeout": "0", "stallout": "0"}
    moved = f"{MOVED_BYTES} bytes"
    return graphml(
        {
            "start": {"loglevel": "message", "heartbeat": "0"},
            "stream_down": {**common, "sendsize": "1 byte", "recvsize": moved},
            "stream_up": {**common, "sendsize": moved, "recvsize": "1 byte"},
        },
        [("start", "stream_down"), ("stream_down", "stream_up")],
    )


def _graph() -> str:
    def node(number: int, down: int, up: int) -> str:
        return f'node [\nid {number}\nhost_bandwidth_down "{down * 8} bit"\nhost_bandwidth_up "{up * 8} bit"\n]'

    def edge(source: int, target: int) -> str:
        return f'edge [\nsource {source}\ntarget {target}\nlatency "10 ms"\npacket_loss 0.0\n]'

    return "\n".join(
        [
            "graph [",
            "directed 0",
            node(0, SERVER_BYTES_PER_S, SERVER_BYTES_PER_S),
            node(1, DOWN_BYTES_PER_S, UP_BYTES_PER_S),
            edge(0, 0),
            edge(0, 1),
            edge(1, 1),
            "]",
            "",
        ]
    )
