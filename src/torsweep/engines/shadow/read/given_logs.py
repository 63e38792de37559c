"""What the logs of a simulation's hosts tell, by the readers of the Shadow engine.

In: ``shadow.data/hosts`` of Shadow 2 or 3, logs plain, gzip or xz. Out: :class:`Read`.

A download that the end of the simulation cut off is known where TGen logs at level info, as perf clients do:
that it was made, when, of what size, and how much of it came.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from torsweep.engines.shadow.read.logs import TEXT, Log, find_logs, numbers, parse_logs, time_us, words
from torsweep.engines.shadow.read.oniontrace import Events, read_oniontrace
from torsweep.engines.shadow.read.tables import by_client
from torsweep.engines.shadow.read.tgen import TgenLog, read_tgen
from torsweep.errors import InputError

PERF_CLIENT, ONION_CLIENT = "perfclient", "onionservice"
"""How the names of clients begin that measure, and how those end that ask onion services."""

CLIENT = re.compile(r"(perf|markov)client\d+(exit|onionservice)?")
RELAY = re.compile(r".*(relay|4uthority).*")
"""Names of hosts, as tornettools gives them; it counts the bytes of authorities among those of relays."""


@dataclass(frozen=True)
class Read:
    """What a simulation tells.

    ``log`` in frames counts ``clients``, which are names, and in ``bandwidth`` ``relays``. ``unfinished`` has
    a row for each download without a report: log, id, vertex, created_us, remote, bytes_wanted, bytes_got.
    ``beats`` (log, time_us, bytes_got) are the bytes that TGen read in each second, of Markov clients.
    """

    clients: list[str]
    tgen: TgenLog
    unfinished: pl.DataFrame
    beats: pl.DataFrame
    circuits: Events
    relays: list[Log]
    bandwidth: Events


NO_BEATS = pl.DataFrame(schema=dict.fromkeys(("log", "time_us", "bytes_got"), pl.Int64))
NONE_UNFINISHED = pl.DataFrame(
    schema={
        **dict.fromkeys(("log", "id"), pl.Int64),
        **dict.fromkeys(("vertex", "remote"), pl.String),
        **dict.fromkeys(("created_us", "bytes_wanted", "bytes_got"), pl.Int64),
    }
)


def read_logs(hosts: Path) -> Read:
    """What the logs in ``hosts`` tell.

    Raises InputError, naming file and line, for logs that are missing, cut off, garbled where it matters, or
    of versions that cannot be read; and where no client began a download.
    """
    names = sorted((entry.name for entry in hosts.iterdir()), key=in_order)
    clients = [name for name in names if CLIENT.fullmatch(name)]
    relays = [name for name in names if RELAY.fullmatch(name)]
    tgen_logs = find_logs(hosts, "tgen", clients)
    missing = set(clients) - {log.host for log in tgen_logs}
    if missing:
        raise InputError("has no log of TGen", file=hosts / min(missing))
    tgen = read_tgen(tgen_logs)
    beside = parse_logs(tgen_logs, _beside)
    perf = [number for number, client in enumerate(clients) if client.startswith(PERF_CLIENT)]
    unfinished = _unfinished(beside.created, tgen, perf)
    if tgen.downloads.is_empty() and unfinished.is_empty():
        raise InputError("holds no download", file=hosts, accepted="logs of clients that began one")
    traces, relay_logs = find_logs(hosts, "oniontrace", clients), find_logs(hosts, "oniontrace", relays)
    return Read(
        clients,
        tgen,
        unfinished,
        beside.beats.filter(pl.col("log").is_in(perf).not_()),
        by_client(read_oniontrace(traces), traces, clients),
        relay_logs,
        read_oniontrace(relay_logs),
    )


def in_order(name: str) -> tuple[str | int, ...]:
    """Key that sorts ``perfclient2exit`` before ``perfclient10exit``."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


@dataclass(frozen=True)
class _Beside:
    """What TGen's lines say beside its reports: downloads that were made, and bytes read by the second."""

    created: pl.DataFrame
    beats: pl.DataFrame


_CREATED_NUMBERS = {"id": r" stream \[id=(\d+),", "bytes_wanted": r",recvsize=(\d+)"}
_CREATED_WORDS = {"vertex": r",vertexid=([^,\]]*),", "remote": r",remote=([^,\]]*),"}
_BEAT = {"bytes_got": r"\[bytes-read=(\d+),"}


def _beside(lines: pl.DataFrame) -> _Beside:
    created = lines.filter(TEXT.str.contains("] Created new stream [id=", literal=True))
    beats = lines.filter(TEXT.str.contains("] [driver-heartbeat] ", literal=True))
    return _Beside(
        created.select("log", *numbers(_CREATED_NUMBERS), *words(_CREATED_WORDS), time_us()).drop_nulls("id"),
        beats.select("log", time_us(), *numbers(_BEAT)).drop_nulls(),
    )


def _unfinished(created: pl.DataFrame, tgen: TgenLog, perf: Sequence[int]) -> pl.DataFrame:
    """Downloads of the clients ``perf`` that were made and not reported; others do not tell of them."""
    got = tgen.growth.group_by("log", "id").agg(pl.col("bytes_got").max())
    return (
        created.filter(pl.col("log").is_in(perf))
        .rename({"time_us": "created_us"})
        .join(tgen.downloads, on=["log", "id"], how="anti")
        .join(got, on=["log", "id"], how="left")
        .with_columns(pl.col("bytes_got").fill_null(0))
        .select(list(NONE_UNFINISHED.columns))
    )
