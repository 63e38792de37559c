"""Small folders as tornettools and Shadow leave them, made up line by line.

In: what happened, in seconds since Shadow's start. Out: a folder with logs, a configuration, and the logs of
tornettools that name seeds; and the JSON files that tgentools and oniontracetools would parse from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

EPOCH_S = 946_684_800
FINGERPRINT = "A" * 40
BUILT = f"BUILT ${FINGERPRINT}~relay1guard BUILD_FLAGS=NEED_CAPACITY PURPOSE=GENERAL"


def us(time_s: float) -> int:
    """µs since 1970."""
    return EPOCH_S * 1_000_000 + round(time_s * 1e6)


def stamp(time_s: float) -> str:
    """How both programs begin a line."""
    seconds, micro = divmod(us(time_s), 1_000_000)
    day_s = seconds - EPOCH_S
    return f"2000-01-01 {day_s // 3600:02d}:{day_s // 60 % 60:02d}:{day_s % 60:02d} {seconds}.{micro:06d}"


@dataclass(frozen=True)
class Download:
    """A download; times in seconds, those after the start counted from it. ``got`` says how much had come by
    when; without ``last_s``, it failed with ``error``, or was cut off where there is none."""

    number: int
    start_s: float
    size: int = 51_200
    command_s: float = 0.25
    first_s: float = 0.5
    last_s: float | None = 1.0
    error: str | None = None
    got: tuple[tuple[float, int], ...] = ()

    @property
    def end_s(self) -> float:
        """When it was reported."""
        return self.start_s + (15.0 if self.last_s is None else self.last_s)

    @property
    def payload(self) -> int:
        """What came in all."""
        came = max((bytes_ for _, bytes_ in self.got), default=0)
        return came if self.last_s is None or not self.size else self.size

    def times(self) -> dict[str, int]:
        """TGen's times of it, µs."""
        command, first = round(self.command_s * 1e6), round(self.first_s * 1e6)
        # In the report of a failure, the time of the latest byte.
        last_s = self.got[-1][0] if self.last_s is None and self.got else self.last_s
        last = -1 if last_s is None else round(last_s * 1e6)
        return {
            "created-ts": us(self.start_s),
            "usecs-to-proxy-response": command,
            "usecs-to-command": command,
            "usecs-to-response": first,
            "usecs-to-first-byte-recv": first if self.got or self.last_s is not None else -1,
            "usecs-to-last-byte-recv": last,
            "now-ts": us(self.end_s),
        }

    def transport(self) -> str:
        """The connection, as TGen's lines have it."""
        return (
            f"[fd=7,local=localhost:127.0.0.1:{20_000 + self.number},proxy=localhost:127.0.0.1:9050,"
            "remote=server1exit:11.0.0.9:80,state=SUCCESS_OPEN,error=NONE]"
        )

    def stream(self) -> str:
        """The download, as TGen's lines have it."""
        return (
            f"[id={self.number},vertexid=stream,name=host,peername=server1exit,sendsize=1000,"
            f"recvsize={self.size},sendstate=SEND_SUCCESS,recvstate=RECV_PAYLOAD,"
            f"error={self.error or 'NONE'}]"
        )

    def lines(self) -> list[tuple[float, str]]:
        """What TGen logs of it, by time."""
        about = f"transport {self.transport()} stream {self.stream()}"

        def bytes_of(got: int) -> str:
            return f"bytes [total-bytes-recv={got + 110},payload-bytes-recv={got},payload-bytes-send=1000]"

        made = f"Created new stream {self.stream()} on transport {self.transport()}"
        found = [(self.start_s, f"[info] [tgen-stream.c:2125] [tgenstream_new] {made}")]
        for after_s, got in self.got:
            text = f"[stream-status] {about} {bytes_of(got)}"
            found.append((self.start_s + after_s, f"[info] [tgen-stream.c:1754] [_tgenstream_log] {text}"))
        if self.last_s is not None or self.error:
            word = "error" if self.error else "success"
            times = ",".join(f"{name}={value}" for name, value in self.times().items())
            text = f"[stream-{word}] {about} {bytes_of(self.payload)} times [{times}]"
            found.append((self.end_s, f"[message] [tgen-stream.c:1738] [_tgenstream_log] {text}"))
        return found


@dataclass(frozen=True)
class Circuit:
    """A circuit that tor launched and, ``after_s`` later, built or gave up for ``reason``."""

    number: int
    launched_s: float
    after_s: float
    reason: str | None = None

    def lines(self) -> list[tuple[float, str]]:
        """The events of it, by time."""
        seconds, micro = divmod(us(self.launched_s) - EPOCH_S * 1_000_000, 1_000_000)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{micro:06d}"
        created = f"TIME_CREATED=2000-01-01T{clock}"
        end = f"{BUILT} {created}"
        if self.reason:
            end = f"FAILED PURPOSE=GENERAL {created} REASON={self.reason}"
        return [
            (self.launched_s + 0.001, f"650 CIRC {self.number} LAUNCHED PURPOSE=GENERAL {created}"),
            (self.launched_s + self.after_s, f"650 CIRC {self.number} {end}"),
        ]


@dataclass(frozen=True)
class Host:
    """What a client did; ``beats`` are TGen's heartbeats: seconds, and bytes read in the second before."""

    downloads: Sequence[Download] = ()
    circuits: Sequence[Circuit] = ()
    beats: Sequence[tuple[float, int]] = ()


CLIENTS = {
    "perfclient1exit": Host(
        [
            Download(0, 60.0),
            Download(
                1, 70.0, 5_242_880, last_s=9.0, got=((2.0, 2_621_440), (6.5, 4_194_304), (8.0, 5_000_000))
            ),
            Download(2, 71.0, error="TIMEOUT", last_s=None, got=((1.0, 10_000),)),
            Download(3, 110.0, 1_048_576, last_s=None, got=((2.0, 600_000), (4.0, 700_000))),
            Download(4, 111.0, command_s=0.125),
        ],
        [Circuit(1, 20.0, 0.4), Circuit(2, 30.0, 5.0, "TIMEOUT")],
    ),
    "markovclient1exit": Host(
        [Download(0, 62.5, 0, last_s=4.0, got=((3.0, 20_000),))],
        [Circuit(1, 25.0, 0.75)],
        [(63.0, 0), (64.0, 20_100)],
    ),
}
"""Of the downloads of the perf client, one fails and one is cut off; the Markov client asks for no size."""


def clients_waiting(took_s: float) -> dict[str, Host]:
    """A perf client whose downloads take ``took_s`` from the request to the last byte."""
    downloads = [
        Download(number, 60.0 + 10 * number, size, first_s=0.25 + took_s / 2, last_s=0.25 + took_s)
        for number, size in enumerate((51_200, 51_200, 1_048_576, 5_242_880))
    ]
    return {"perfclient1exit": Host(downloads, [Circuit(1, 70.0, took_s / 4)])}


RELAYS = {"relay1guard": [(61.3, 1000, 2000), (62.3, 3000, 4000)], "4uthority1": [(61.8, 10, 20)]}
"""Seconds, bytes read and written of tor's BW events."""

END_S = 120


def tornet(
    folder: Path,
    clients: Mapping[str, Host] | None = None,
    *,
    network: int = 1,
    seeds: Sequence[int] = (1,),
    version: str = "1.1.2",
) -> Path:
    """A simulated folder with logs; ``network`` decides where its hosts stand in the graph."""
    everyone = CLIENTS if clients is None else clients
    for name, host in everyone.items():
        opening = [
            "[message] [tgen-main.c:43] [_tgenmain_run] Initializing TGen v"
            f"{version} running GLib v2.74.6 and IGraph v0.10.2 on host {name} with process id 1006"
        ]
        events = [line for download in host.downloads for line in download.lines()]
        events += [(at, _beat(read)) for at, read in host.beats]
        _log(folder, name, "tgen.1006", 50.0, opening, events)
        _log(folder, name, "oniontrace.1005", 10.0, [_trace(name)], _events(host.circuits))
    for name, told in RELAYS.items():
        lines = [(time_s, f"650 BW {read} {written}") for time_s, read, written in told]
        lines.append((END_S - 0.2, "650 BW 0 0"))
        _log(
            folder, name, "oniontrace.1001", 5.0, [_trace(name)], [(at, _logged(text)) for at, text in lines]
        )
    hosts = [
        f"  {name}:\n    network_node_id: {network + number}\n    bandwidth_down: 1 gigabit"
        for number, name in enumerate([*RELAYS, *everyone])
    ]
    text = "general:\n  stop_time: 2 min\n  seed: 7\nhosts:\n" + "\n".join(hosts) + "\n"
    (folder / "shadow.config.yaml").write_text(text)
    for number, seed in enumerate(seeds):
        text = (
            f"2026-01-01 00:00:00 1.5 [tornettools] [INFO] Seeded standard and numpy PRNGs with seed={seed}\n"
        )
        (folder / f"tornettools.generate.2026-01-01.00.00.0{number}.log").write_text(text)
    return folder


def _trace(name: str) -> str:
    return f"[message] [main] Starting OnionTrace v1.0.0 on host {name} process id 1005"


def _beat(read: int) -> str:
    where = "[message] [tgen-driver.c:254] [_tgendriver_onHeartbeat]"
    return f"{where} [driver-heartbeat] [bytes-read={read},bytes-written=0]"


def _logged(text: str) -> str:
    return f"[default] [_oniontracelogger_logControlLine] Logger: {text}"


def _events(circuits: Sequence[Circuit]) -> list[tuple[float, str]]:
    return [(at, _logged(text)) for circuit in circuits for at, text in circuit.lines()]


def _log(
    folder: Path, host: str, process: str, begun_s: float, opening: list[str], lines: list[tuple[float, str]]
) -> None:
    file = folder / "shadow.data/hosts" / host / f"{process}.stdout"
    file.parent.mkdir(parents=True, exist_ok=True)
    timed = [*((begun_s, text) for text in opening), *sorted(lines, key=lambda line: line[0])]
    file.write_text("".join(f"{stamp(at)} {text}\n" for at, text in timed))
