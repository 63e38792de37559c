"""Logs as TGen 1.1.2 and OnionTrace 1.0.0 write them under Shadow, made up line by line.

In: what happened, in seconds of the run. Out: a run directory with layout.json, run.json and logs. The run's
time 0 is 100 s after the simulation's start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests import made_tornet
from tests.synthetic import Size, write_run
from torsweep.engines.shadow.simulate import HOSTS_FOLDER, Layout

BOOTSTRAP_S = 100
DURATION_S = 60
WANTED = 307_200
FINGERPRINTS = {f"relay{n}": f"{n:040X}" for n in range(1, 6)}
SERVERS = {"11.0.0.7": "server1", "11.0.0.8": "server2"}


def stamp(time_s: float) -> str:
    """How both programs begin a line that they write ``time_s`` after the run's start."""
    return made_tornet.stamp(BOOTSTRAP_S + time_s)


def us(time_s: float) -> int:
    """µs since 1970."""
    return made_tornet.us(BOOTSTRAP_S + time_s)


def tgen_opening(begun_s: float = 0.0, version: str = "1.1.2") -> list[str]:
    """What a TGen client says before its first download."""
    return [
        f"{stamp(begun_s)} [message] [tgen-main.c:43] [_tgenmain_run] Initializing TGen v{version} running"
        " GLib v2.74.6 and IGraph v0.10.2 on host web1 with process id 1004",
        f"{stamp(begun_s)} [message] [tgen-driver.c:819] [_tgendriver_onStartClientTimerExpired] starting"
        " client using action graph 'tgen.graphml'",
    ]


@dataclass
class Download:
    """A download that TGen reports; times in seconds, those after the start counted from it."""

    number: int
    start_s: float
    socks_s: float | None = 0.1
    first_s: float | None = 0.3
    last_s: float | None = 1.0
    ended_s: float = 1.25
    got: int = WANTED
    error: str = "NONE"
    transport: tuple[str, str] = ("SUCCESS_OPEN", "NONE")
    port: int = 40_000
    vertex: str | None = None
    server: str = "server1:11.0.0.7:80"

    @property
    def end_s(self) -> float:
        return self.start_s + self.ended_s

    def report(self) -> str:
        def after(time_s: float | None) -> int:
            return -1 if time_s is None else round(time_s * 1e6)

        state, transport_error = self.transport
        socks, first, last = after(self.socks_s), after(self.first_s), after(self.last_s)
        kind = "success" if self.error == "NONE" else "error"
        vertex = self.vertex or f"stream{self.number}"
        return (
            f"{stamp(self.end_s)} [message] [tgen-stream.c:1738] [_tgenstream_log] [stream-{kind}] transport "
            f"[fd=5,local=localhost:127.0.0.1:{self.port + self.number},proxy=localhost:127.0.0.1:9050,"
            f"remote={self.server},state={state},error={transport_error}] stream "
            f"[id={self.number - 1},vertexid={vertex},name=web1,peername=server1,sendsize=1000,"
            f"recvsize={WANTED},sendstate=SEND_SUCCESS,recvstate=RECV_SUCCESS,error={self.error}] bytes "
            f"[total-bytes-recv={self.got + 110},total-bytes-send=3208,payload-bytes-recv={self.got},"
            "payload-bytes-send=1000,payload-progress-recv=100.00%,payload-progress-send=100.00%] times "
            f"[created-ts={us(self.start_s)},usecs-to-socket-create=0,usecs-to-socket-connect=0,"
            f"usecs-to-proxy-init=0,usecs-to-proxy-choice=0,usecs-to-proxy-request=0,"
            f"usecs-to-proxy-response={socks},usecs-to-command={socks},usecs-to-response={first},"
            f"usecs-to-first-byte-recv={first},usecs-to-last-byte-recv={last},usecs-to-checksum-recv={last},"
            f"usecs-to-first-byte-send={socks},usecs-to-last-byte-send={socks},"
            f"usecs-to-checksum-send={socks},now-ts={us(self.end_s)}]"
        )


def graph(pauses_s: Sequence[float], parallel: int = 1) -> str:
    """A client's action graph: a download before each pause, in a circle, in ``parallel`` chains."""
    nodes, edges = [f'<node id="start"><data key="recvsize">{WANTED} bytes</data></node>'], []
    for chain in range(parallel):
        numbers = range(chain, len(pauses_s), parallel)
        previous = "start"
        for number in numbers:
            name = f"stream{number + 1}"
            nodes.append(f'<node id="{name}"><data key="peers">server1:80</data></node>')
            edges.append((previous, name))
            previous = name
            if pauses_s[number]:
                pause_us = round(pauses_s[number] * 1e6)
                previous = f"pause{number + 1}"
                nodes.append(f'<node id="{previous}"><data key="time">{pause_us} microseconds</data></node>')
                edges.append((name, previous))
        edges.append((previous, f"stream{chain + 1}"))
    arrows = [f'<edge source="{source}" target="{target}"/>' for source, target in edges]
    return "\n".join(["<graphml>", *nodes, *arrows, "</graphml>", ""])


TRACE_OPENING = [
    f"{stamp(-50)} [message] [main] Starting OnionTrace v1.0.0 on host web1 process id 1003",
    f"{stamp(-50)} [message] [oniontraceconfig_new] successfully parsed key='Mode' value='log'",
]


def event(time_s: float, text: str) -> str:
    """A control event that OnionTrace passes on."""
    return f"{stamp(time_s)} [default] [_oniontracelogger_logControlLine] Logger: {text}"


def path(*relays: str) -> str:
    """Relays as tor writes them."""
    return ",".join(f"${FINGERPRINTS[relay]}~{relay}" for relay in relays)


def carried(tor_stream: int, number: int, circuit: int, start_s: float, socks_s: float | None) -> list[str]:
    """tor's events of a download until its connection is open (``socks_s`` after its start)."""
    source = f"SOURCE_ADDR=127.0.0.1:{40_000 + number} PURPOSE=USER CLIENT_PROTOCOL=SOCKS5"
    asked_s = start_s + 0.001
    lines = [
        event(asked_s, f"650 STREAM {tor_stream} NEW 0 11.0.0.7:80 {source}"),
        event(asked_s, f"650 STREAM {tor_stream} SENTCONNECT {circuit} 11.0.0.7:80 CLIENT_PROTOCOL=SOCKS5"),
    ]
    if socks_s is not None:
        lines.append(event(start_s + socks_s, f"650 STREAM {tor_stream} SUCCEEDED {circuit} 11.0.0.7:80"))
    return lines


@dataclass
class Scene:
    """One web client, ``web1``, and the relays whose bandwidth is logged."""

    downloads: list[Download] = field(default_factory=list)
    pauses_s: Sequence[float] = (5.0, 5.0, 5.0)
    parallel: int = 1
    begun_s: float = 0.0
    tgen: list[str] | None = None
    trace: list[str] | None = None
    relays: dict[str, list[str]] = field(default_factory=dict)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The run directory and its folder of Shadow's files."""
        variant = {"refill_interval": "100ms", "circuit_policy": "ewma"}
        run = write_run(folder, variant, 1, Size(1, 0, 1, 10, DURATION_S))
        for table in ("streams", "relays"):
            (run / f"{table}.parquet").unlink()
        shadow = run / "shadow"
        Layout(
            epoch_s=made_tornet.EPOCH_S,
            bootstrap_ns=BOOTSTRAP_S * 10**9,
            duration_ns=DURATION_S * 10**9,
            clients={"web1": "web"},
            relays=FINGERPRINTS,
            authorities={},
            servers=SERVERS,
        ).write(shadow)
        reports = [download.report() for download in self.downloads]
        self.put(shadow, "web1/tgen.1004.stdout", self.tgen or [*tgen_opening(self.begun_s), *reports])
        (shadow / HOSTS_FOLDER / "web1/tgen.graphml").write_text(graph(self.pauses_s, self.parallel))
        if self.trace is not None:
            self.put(shadow, "web1/oniontrace.1003.stdout", [*TRACE_OPENING, *self.trace])
        for relay, lines in self.relays.items():
            self.put(shadow, f"{relay}/oniontrace.1001.stdout", [*TRACE_OPENING, *lines])
        return run, shadow

    @staticmethod
    def put(shadow: Path, name: str, lines: Sequence[str]) -> None:
        """Write a log below the hosts' folder."""
        file = shadow / HOSTS_FOLDER / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines))
