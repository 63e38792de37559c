"""Plausible tables of measures without an engine: circuits, received bytes, packets, round trips, costs.

In: a refill interval, a seed, a size of run. Out: tables whose numbers tests know. A shorter interval makes
circuits and round trips quicker by as much, and relays busier.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl

from torsweep import seeds
from torsweep.engines.table_schema import CIRCUITS, COSTS, RECEIVED, ROUND_TRIPS, WIRE, TableSchema

CIRCUIT_EVERY_S = 10
FAILING_ONE_IN = 8
LEAST_S = 0.1
WINDOW_CELLS = 200
RECEIVED_BYTES = {"web": 400_000, "bulk": 200_000}
"""What all clients of a kind receive in a second."""

WIRE_PACKETS, WIRE_PACKET_BYTES = 3_000, 1_000
"""What all hosts send in a second."""

RELAY_CPU_S, CLIENT_CPU_S, START_S = 20.0, 2.0, 2.5
RELAY_MEMORY_BYTES, CLIENT_MEMORY_BYTES = 60 * 2**20, 30 * 2**20


class Sized(Protocol):
    """What there is of everything."""

    @property
    def web_clients(self) -> int: ...
    @property
    def relays(self) -> int: ...
    @property
    def duration_s(self) -> int: ...


def measure_tables(interval_s: float, seed: int, size: Sized) -> list[tuple[TableSchema, pl.DataFrame]]:
    """Each table with its schema."""
    seconds = range(size.duration_s)
    sent = {"packets": WIRE_PACKETS, "bytes": WIRE_PACKETS * WIRE_PACKET_BYTES}
    received = RECEIVED_BYTES.items()
    rows = {
        CIRCUITS: _circuits(interval_s, seed, size),
        RECEIVED: [{"second": n, "kind": kind, "bytes_got": got} for n in seconds for kind, got in received],
        WIRE: [{"second": n, **sent} for n in seconds],
        ROUND_TRIPS: _round_trips(interval_s, seed, size),
        COSTS: _costs(interval_s, size),
    }
    return [(schema, pl.DataFrame(table, schema.polars)) for schema, table in rows.items()]


def _circuits(interval_s: float, seed: int, size: Sized) -> list[dict[str, object]]:
    generator = seeds.stream(seed, "circuits")
    rows = []
    for number in range(size.web_clients):
        for circuit, launched_s in enumerate(range(number % 7, size.duration_s, CIRCUIT_EVERY_S), start=1):
            launched_us, build_us = launched_s * 1_000_000, int((0.2 + interval_s + generator.random()) * 1e6)
            failed = (number + circuit) % FAILING_ONE_IN == 0
            row: dict[str, object] = dict.fromkeys(CIRCUITS.polars)
            row |= {"client": f"web{number + 1}", "circuit": circuit, "purpose": "GENERAL", "streams": 1}
            row |= {"launched_us": launched_us, "path": "relay1,relay2,relay3"}
            ended = {"closed_us": launched_us + build_us, "close_reason": "TIMEOUT"}
            rows.append(row | (ended if failed else {"built_us": launched_us + build_us}))
    return rows


def _round_trips(interval_s: float, seed: int, size: Sized) -> list[dict[str, object]]:
    generator = seeds.stream(seed, "round trips")
    rows = []
    for second in range(size.duration_s):
        for circuit, noise in enumerate(np.asarray(generator.random(size.relays)), start=1):
            row = {"host": "relay1", "circuit": circuit, "time_us": second * 1_000_000}
            row |= {"round_trip_us": int((LEAST_S + 0.2 + interval_s + noise) * 1e6)}
            rows.append(row | {"least_us": int(LEAST_S * 1e6), "window_cells": WINDOW_CELLS + circuit})
    return rows


def _costs(interval_s: float, size: Sized) -> list[dict[str, object]]:
    relay_us = int(RELAY_CPU_S * (2 - interval_s) * 1e6)
    relays = [
        (f"relay{number + 1}", "relay", relay_us, RELAY_MEMORY_BYTES, None) for number in range(size.relays)
    ]
    client_us = int(CLIENT_CPU_S * 1e6)
    clients = [
        (f"web{number + 1}", "client", client_us, CLIENT_MEMORY_BYTES, int(START_S * 1e6))
        for number in range(size.web_clients)
    ]
    return [dict(zip(COSTS.polars, row, strict=True)) for row in (*relays, *clients)]
