"""The latency model ``wonderproxy-2020``, whose places have countries.

In: in ``--data``, ``latency/servers-2020-07-19.csv`` and ``latency/pings-2020-07-19-2020-07-20.csv`` (or
``.csv.gz``), WonderProxy's pings between its servers in known cities; Tor's users and relays by country, from
``relays/``; ``countries.csv`` beside this file. Out: the model, with the country and continent of each place
and its shares of clients and of relays; errors, and how many users and relays are in countries that have a
place.
"""

from __future__ import annotations

import json
import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
from measured_latency import derive_measured

from torsweep.network.exact import Floats
from torsweep.network.latency import Whereabouts
from torsweep.network.model import CONTINENTS

TABLE = "wonderproxy-2020"
_COUNTRIES = Path(__file__).parent / "countries.csv"


def derive(data: Path, out: Path) -> dict:
    """Write ``out/wonderproxy-2020.npz``; its errors and the shares of users and relays that it covers."""
    servers = pl.read_csv(data / "servers-2020-07-19.csv").select("id", "country")
    servers = servers.join(pl.read_csv(_COUNTRIES), left_on="country", right_on="name").sort("id")
    relays = data.parent / "relays"
    shares = {"clients": _users(relays), "relays": _relays(relays)}
    places = Counter(servers["code"])
    of_places = {
        kind: np.array([share.get(code, 0.0) / places[code] for code in servers["code"]])
        for kind, share in shares.items()
    }
    where = Whereabouts(
        country=np.array([list(code.encode()) for code in servers["code"]], np.uint8),
        continent=np.array([CONTINENTS.index(name) for name in servers["continent"]], np.int32),
        client_share=of_places["clients"] / of_places["clients"].sum(),
        relay_share=of_places["relays"] / of_places["relays"].sum(),
    )
    rtt_us = round_trips(data, servers["id"].to_list())
    model = derive_measured(rtt_us, "19 July 2020", {}, out / f"{TABLE}.npz", where)
    covered = {kind: round(float(of_places[kind].sum()), 4) for kind in shares}
    lacking = {
        kind: {code: round(part, 4) for code, part in share.items() if code not in places and part >= 0.005}
        for kind, share in shares.items()
    }
    by_continent = {
        kind: {
            name: round(float(getattr(where, column)[where.continent == number].sum()), 3)
            for number, name in enumerate(CONTINENTS)
        }
        for kind, column in (("clients", "client_share"), ("relays", "relay_share"))
    }
    return {
        "places": servers.height,
        "countries": len(places),
        "share in countries with a place": covered,
        "largest without": lacking,
        "share by continent": by_continent,
    } | model


def round_trips(data: Path, servers: list[int]) -> Floats:
    """Median RTTs of both directions, (servers, servers) microseconds, NaN where there are none."""
    file = next(iter(sorted(data.glob("pings-2020-07-19-2020-07-20.csv*"))))
    pings = pl.read_csv(file).select("source", "destination", "avg")
    pairs = pings.filter(pl.col("source") != pl.col("destination"), pl.col("avg") > 0).group_by(
        pl.min_horizontal("source", "destination").alias("one"),
        pl.max_horizontal("source", "destination").alias("other"),
    )
    row = {server: number for number, server in enumerate(servers)}
    rtt_us = np.full((len(servers), len(servers)), np.nan)
    for one, other, milliseconds in pairs.agg(pl.col("avg").median()).rows():
        if one in row and other in row:
            rtt_us[row[one], row[other]] = rtt_us[row[other], row[one]] = milliseconds * 1000
    return rtt_us


def _users(relays: Path) -> dict[str, float]:
    users = json.loads((relays / "userinfo_staging_2024-05-01--2024-05-31.json").read_text())
    return _shares({code.upper(): share for code, share in users.items()})


def _relays(relays: Path) -> dict[str, float]:
    """Each relay counts for the part of the month in which it ran."""
    with lzma.open(relays / "relayinfo_staging_2024-05-01--2024-05-31.json.xz", "rt") as file:
        staged = json.load(file)["relays"].values()
    counts: Counter[str] = Counter()
    for relay in staged:
        counts[relay["country_code"] or "?"] += relay["running_frequency"]
    return _shares(counts)


def _shares(counts: dict[str, float]) -> dict[str, float]:
    total = sum(counts.values())
    return {code: count / total for code, count in counts.items()}
