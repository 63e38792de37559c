"""A tiny simulation that shows whether Shadow gives a host the rates that it is asked for.

In: the tools. Out: the rates measured each way, kept by version, or one line that they are wrong. Shadow
3.3.0 and before can give a host its downstream rate both ways; nothing in a long run would show it.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from pathlib import Path

from torsweep.engines.contract import Say
from torsweep.engines.hosts import address
from torsweep.engines.shadow.process import run_simulation
from torsweep.engines.shadow.simulate import GraphHost, Process, ShadowSimulation, uniform_graph
from torsweep.engines.shadow.tools import RESULTS_FOLDER, TRIALS_FOLDER, ShadowTools
from torsweep.engines.shadow.traffic import graphml
from torsweep.errors import InputError, TorsweepError
from torsweep.formats.json_file import read_json
from torsweep.storage import write_text
from torsweep.units import SECOND_NS

DOWN_BYTES_PER_S = 1_000_000
UP_BYTES_PER_S = 250_000
SERVER_BYTES_PER_S = 12_500_000
STREAMS_EACH_WAY = 4
SETTLING_S = 10
TRANSFER_S = 40

LEAST_RATE_SHARE = 0.6
MOST_RATE_SHARE = 1.02
"""Accepted shares of the configured rate. Headers take 4 %, and Shadow's TCP, which loses packets in the
short queue of a host's router, does not fill the down-link. If Shadow confuses the two rates, the measured
rate is wrong by a factor of four."""

_READ = re.compile(r"\[driver-heartbeat\] \[bytes-read=(\d+)")


def require_preflight(
    tools: ShadowTools, say: Say, kept_in: Path = RESULTS_FOLDER / TRIALS_FOLDER
) -> dict[str, float]:
    """The rates measured each way, bytes per second; measured once for a version.

    Raises TorsweepError when one is not the rate asked for.
    """
    versions = {**tools.version_lines, "round_trips": tools.round_trips.text}
    name = hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:16]
    file = kept_in / f"{name}.json"
    try:
        rates = read_json(file)["measured"]
        measured = {way: float(rates[way]) for way in ("down", "up")}
    except (InputError, KeyError, TypeError, ValueError):
        measured = measure(tools)
        say(f"preflight: {measured['down'] / 1e6:.3f} MB/s down, {measured['up'] / 1e6:.3f} MB/s up")
        write_text(file, json.dumps({"measured": measured, "versions": versions}, indent=1) + "\n")
    check(measured, tools)
    return measured


def check(measured: dict[str, float], tools: ShadowTools) -> None:
    """TorsweepError when ``measured`` is not what the preflight asks for."""
    rates = {"down": DOWN_BYTES_PER_S, "up": UP_BYTES_PER_S}
    for way, rate in rates.items():
        if not LEAST_RATE_SHARE * rate <= measured[way] <= MOST_RATE_SHARE * rate:
            raise TorsweepError(
                f"{tools.shadow}: gives hosts wrong rates: {rate / 1e6:g} MB/s {way} were asked for,"
                f" {measured[way] / 1e6:.3f} MB/s were measured ({tools.version_lines['shadow']})"
            )


def measure(tools: ShadowTools) -> dict[str, float]:
    """What a host gets and what it gives, each with :data:`STREAMS_EACH_WAY` streams of its own; bytes per
    second.

    Both are counted where they arrive, second by second, after the first :data:`SETTLING_S`.
    """
    with tempfile.TemporaryDirectory(prefix="torsweep-preflight-") as temporary:
        folder = Path(temporary)
        # Two servers without limits, and two hosts with different rates each way.
        rates = [(SERVER_BYTES_PER_S, SERVER_BYTES_PER_S), (DOWN_BYTES_PER_S, UP_BYTES_PER_S)] * 2
        (folder / "graph.gml").write_text(uniform_graph(rates, latency_ms=50))
        environment = {"OPENBLAS_NUM_THREADS": "1"}
        hosts = {}
        for node, (name, graph) in enumerate(_actions().items()):
            (folder / "template" / "hosts" / name).mkdir(parents=True)
            (folder / "template" / "hosts" / name / "tgen.graphml").write_text(graph)
            start_ns = 0 if name.startswith("server") else SECOND_NS
            hosts[name] = GraphHost(
                node, address(node), [Process(tools.tgen, ["tgen.graphml"], start_ns, environment)]
            )
        run_simulation(
            ShadowSimulation(hosts, TRANSFER_S * SECOND_NS, seed=1, parallelism=1), folder, tools.shadow
        )
        return {
            "down": _received(folder / "data" / "hosts" / "getter"),
            "up": _received(folder / "data" / "hosts" / "server2"),
        }


def _received(host: Path) -> float:
    log = next(host.glob("tgen.*.stdout")).read_text()
    seconds = [int(count) for count in _READ.findall(log)][SETTLING_S:]
    if not seconds:
        raise TorsweepError(f"the preflight moved no bytes: {log.splitlines()[-1:]}")
    return sum(seconds) / len(seconds)


def _actions() -> dict[str, str]:
    """Host to the graph of its TGen, in the order of the nodes."""
    much, little = "1 GB", "1 byte"
    start = {"loglevel": "message", "heartbeat": "1 second", "timeout": "0", "stallout": "0"}
    server = graphml({"start": {**start, "serverport": "80"}}, [])

    def client(peer: str, sent: str, received: str) -> str:
        streams = [f"stream{number}" for number in range(STREAMS_EACH_WAY)]
        sizes = {"peers": f"{peer}:80", "sendsize": sent, "recvsize": received}
        vertices = {"start": start, **{stream: sizes for stream in streams}}
        return graphml(vertices, [("start", stream) for stream in streams])

    return {
        "server1": server,
        "getter": client("server1", little, much),
        "server2": server,
        "giver": client("server2", much, little),
    }
