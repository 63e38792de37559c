"""The programs of a Shadow run, with their versions.

In: PATH, and the build of tor. Out: :class:`ShadowTools`, or one line on what is missing.

Two tiny simulations show what Shadow's version does not tell, and what they found is kept. Does its TCP
measure round trips? Shadow 2.5.0 to at least 3.3.0 never does unless patched (``patches/shadow``), which
changes all results. Does a host get the rates that are asked for? 3.3.0 and before can give it its downstream
rate both ways, and nothing in a long run would show it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from torsweep.config.reading import validate
from torsweep.engines.contract import Say
from torsweep.engines.host_files import address
from torsweep.engines.host_tors import HostTors, find_host_tors
from torsweep.engines.run_spec import RunSpec
from torsweep.engines.shadow import round_trip_probe
from torsweep.engines.shadow.process import run_simulation
from torsweep.engines.shadow.simulate import (
    HOSTS_FOLDER,
    TEMPLATE_HOSTS,
    GraphHost,
    Process,
    ShadowSimulation,
    uniform_graph,
)
from torsweep.engines.shadow.traffic import graphml
from torsweep.engines.tools import require_tool
from torsweep.errors import InputError, TorsweepError
from torsweep.formats.files import read_json
from torsweep.provenance import sha256_of_file
from torsweep.storage import write_text
from torsweep.tor.builds import find_build
from torsweep.units import SECOND_NS

MEASURING, NOT_MEASURING = "shadow", "shadow-no-rtt"
"""The two kinds of Shadow. They give other results, so runs have other names in run.json and in paths."""

RESULTS_FOLDER = Path("results")
TRIALS_FOLDER = Path("tools/preflight")
"""The folder below :data:`RESULTS_FOLDER` that keeps what was measured of each program. Without a folder of
results nothing is kept."""

ONE_WAY_MS = 50
PROBE_S = 10
"""Simulated seconds: enough for a connection and five exchanges, a time-out or two included."""

_UNITS_MS = (1.0, 0.001)
"""Units in which ``tcpi_rtt`` may be: Shadow gives milliseconds, Linux microseconds."""

_NOT_TOLD = "whether it measures round trips is not known"


@dataclass(frozen=True)
class RoundTrips:
    """``tcpi_rtt`` of a connection whose round trip is ``given_ms``, as it was read."""

    given_ms: float
    tcpi_rtt: int

    @property
    def measured(self) -> bool:
        """Whether TCP measured the round trip at all."""
        return self.tcpi_rtt > 0

    @property
    def engine(self) -> str:
        """The engine that such a Shadow is, by the name of its runs."""
        return MEASURING if self.measured else NOT_MEASURING

    @property
    def text(self) -> str:
        """The words for it in provenance, captions and the doctor's table."""
        return f"round trips {'' if self.measured else 'not '}measured"


@functools.cache
def round_trips(shadow: Path, results: Path = RESULTS_FOLDER) -> RoundTrips:
    """The result of :func:`measure`, which runs once for a program."""
    file = results / TRIALS_FOLDER / f"round-trips-{sha256_of_file(shadow)[:16]}.json"
    try:
        return validate(RoundTrips, read_json(file), file)
    except InputError:
        trial = measure(shadow)
    if results.is_dir():
        write_text(file, json.dumps(asdict(trial), indent=1) + "\n")
    return trial


def measure(shadow: Path) -> RoundTrips:
    """TCP's estimate of a round trip of twice :data:`ONE_WAY_MS`, after a few exchanges of a byte;
    TorsweepError when Shadow gets to no answer, or to one that is no round trip of this path."""
    hosts = {"answering": _host(0, 0, "answer"), "asking": _host(1, SECOND_NS, "ask", address(0))}
    graph = uniform_graph([(1_250_000, 1_250_000)], ONE_WAY_MS)
    with tempfile.TemporaryDirectory(prefix="torsweep-round-trips-") as temporary:
        folder = Path(temporary) / "simulation"
        (folder / "template").mkdir(parents=True)
        try:
            tcpi_rtt = _told(_simulated(hosts, graph, PROBE_S, folder, shadow) / "asking")
        except (TorsweepError, OSError) as error:
            raise TorsweepError(f"{shadow}: {_NOT_TOLD}: {error}") from None
    trial = RoundTrips(2 * ONE_WAY_MS, tcpi_rtt)
    if trial.measured and not any(0.5 <= tcpi_rtt * unit / trial.given_ms <= 2 for unit in _UNITS_MS):
        reason = f"TCP_INFO says {tcpi_rtt} of a round trip of {trial.given_ms:g} ms"
        raise TorsweepError(f"{shadow}: {_NOT_TOLD}: {reason}")
    return trial


def _simulated(hosts: dict[str, GraphHost], graph: str, seconds: int, folder: Path, shadow: Path) -> Path:
    """The folder of the hosts' files after so many simulated ``seconds``, in ``folder`` with its template."""
    (folder / "graph.gml").write_text(graph)
    run_simulation(ShadowSimulation(hosts, seconds * SECOND_NS, seed=1, parallelism=1), folder, shadow)
    return folder / HOSTS_FOLDER


def _host(number: int, start_ns: int, *arguments: str) -> GraphHost:
    # Neither the user's packages nor a start-up file of theirs: the probe needs the standard library alone.
    command = ["-I", "-S", str(Path(round_trip_probe.__file__).absolute()), *arguments]
    process = Process(Path(sys.executable), command, start_ns, runs_to_the_end=False)
    return GraphHost(0, address(number), [process])


def _told(host: Path) -> int:
    answer = next((log.read_text() for log in host.glob("*.stdout")), "").strip()
    if not answer.isdigit():
        raise TorsweepError(f"the connection said {answer!r}" if answer else "no connection came about")
    return int(answer)


@dataclass(frozen=True)
class ShadowTools:
    """The programs, what each says of its version, and what was found of Shadow's TCP."""

    shadow: Path
    tgen: Path
    oniontrace: Path
    tors: HostTors
    version_lines: dict[str, str]
    round_trips: RoundTrips

    @property
    def engine_version(self) -> str:
        """The engine's name in figures and tables: Shadow's version, what its TCP does, and tor's version."""
        words = self.version_lines["shadow"].split()
        exact = next((word for word in words if word.startswith("v")), words[min(1, len(words) - 1)])
        return f"{exact.removeprefix('v')}, {self.round_trips.text}, tor {self.tors.version}"

    @property
    def engine(self) -> str:
        """The engine that this Shadow is."""
        return self.round_trips.engine


def find_tools(run: RunSpec | None = None) -> ShadowTools:
    """All programs, with the builds of tor that ``run`` asks for, or the current one. ToolMissing for the
    first that is missing or too old; TorsweepError when a trial does not show whether Shadow measures round
    trips."""
    tools = {name: require_tool(name) for name in ("shadow", "tgen", "oniontrace")}
    return ShadowTools(
        shadow=tools["shadow"].path,
        tgen=tools["tgen"].path,
        oniontrace=tools["oniontrace"].path,
        tors=find_host_tors(run) if run else HostTors(find_build()),
        version_lines={name: tool.version_line for name, tool in tools.items()},
        round_trips=round_trips(tools["shadow"].path),
    )


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
    """The rates measured each way, bytes per second, once for a version; TorsweepError when one is not as
    asked for."""
    versions = {**tools.version_lines, "round_trips": tools.round_trips.text}
    name = hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:16]
    file = kept_in / f"{name}.json"
    try:
        rates = read_json(file)["measured"]
        measured = {way: float(rates[way]) for way in ("down", "up")}
    except (InputError, KeyError, TypeError, ValueError):
        measured = measure_rates(tools)
        say(f"preflight: {measured['down'] / 1e6:.3f} MB/s down, {measured['up'] / 1e6:.3f} MB/s up")
        write_text(file, json.dumps({"measured": measured, "versions": versions}, indent=1) + "\n")
    check_rates(measured, tools)
    return measured


def check_rates(measured: dict[str, float], tools: ShadowTools) -> None:
    """TorsweepError when ``measured`` is not what the preflight asks for."""
    rates = {"down": DOWN_BYTES_PER_S, "up": UP_BYTES_PER_S}
    for way, rate in rates.items():
        if not LEAST_RATE_SHARE * rate <= measured[way] <= MOST_RATE_SHARE * rate:
            raise TorsweepError(
                f"{tools.shadow}: gives hosts wrong rates: {rate / 1e6:g} MB/s {way} were asked for,"
                f" {measured[way] / 1e6:.3f} MB/s were measured ({tools.version_lines['shadow']})"
            )


def measure_rates(tools: ShadowTools) -> dict[str, float]:
    """A host's rates down and up, each with :data:`STREAMS_EACH_WAY` streams, in bytes per second, counted
    where they arrive, after the first :data:`SETTLING_S`."""
    with tempfile.TemporaryDirectory(prefix="torsweep-preflight-") as temporary:
        folder = Path(temporary)
        # Two servers without limits, and two hosts with different rates each way.
        rates = [(SERVER_BYTES_PER_S, SERVER_BYTES_PER_S), (DOWN_BYTES_PER_S, UP_BYTES_PER_S)] * 2
        hosts = {}
        for node, (name, actions) in enumerate(_actions().items()):
            (folder / TEMPLATE_HOSTS / name).mkdir(parents=True)
            (folder / TEMPLATE_HOSTS / name / "tgen.graphml").write_text(actions)
            start_ns = 0 if name.startswith("server") else SECOND_NS
            tgen = Process(tools.tgen, ["tgen.graphml"], start_ns, {"OPENBLAS_NUM_THREADS": "1"})
            hosts[name] = GraphHost(node, address(node), [tgen])
        graph = uniform_graph(rates, latency_ms=50)
        left = _simulated(hosts, graph, TRANSFER_S, folder, tools.shadow)
        return {"down": _received(left / "getter"), "up": _received(left / "server2")}


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
