"""Round trips between the hosts of sampled networks, beside those of networks of an earlier version.

    python -m bench.round_trips OLD NEW [--out docs/tables/round_trips.csv]

In: two folders; in each, ``TABLE/SEED`` is a network that was sampled on the table of latency of this name,
in OLD by a version that had a round trip for each two hosts. Out: for each table and version, percentiles of
the round trips between hosts without a last mile (relays, authorities, servers) and between all hosts, over
the pairs of all networks, and the triangle inequalities that are violated between the former, the mean of
the networks.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.writing import csv_text
from torsweep.network.latency_matrix import triangle_violations
from torsweep.network.model import LATENCY_FILE, NETWORK_FILE, read_network
from torsweep.storage import write_text

TABLES = ("king", "planetlab", "atlas-2023")
LEVELS = (1, 5, 10, 25, 50, 75, 90, 95, 99)
COLUMNS = ("table", "hosts", "version", "networks", *(f"p{level}_ms" for level in LEVELS), "violations")


def old_network(folder: Path) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The round trips between all hosts of a network of version 2, and the hosts without a last mile."""
    document = json.loads((folder / NETWORK_FILE).read_text(encoding="utf-8"))
    if document["format_version"] != 2:
        raise SystemExit(f"{folder}: is of version {document['format_version']}, not 2")
    hosts = [host for kind in ("relays", "authorities", "servers") for host in document[kind]]
    return np.load(folder / LATENCY_FILE), np.array([host["node"] for host in hosts])


def new_network(folder: Path) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The same of a network with places."""
    network, latencies = read_network(folder)
    node_of = network.node_of
    near = np.array([node_of[h.name] for h in (*network.relays, *network.authorities, *network.servers)])
    return latencies.rows(0, network.node_count), near


def rows(folder: Path, version: str) -> list[dict[str, object]]:
    """The rows of the networks in ``folder``."""
    read, found = {"pairs of hosts": old_network, "places": new_network}[version], []
    for table in TABLES:
        pairs: dict[str, list[NDArray[np.int32]]] = {"without a last mile": [], "all": []}
        violated = []
        networks = sorted((folder / table).iterdir())
        for network in networks:
            rtt_us, near = read(network)
            between = rtt_us[np.ix_(near, near)]
            pairs["without a last mile"].append(between[np.triu_indices(len(near), 1)])
            pairs["all"].append(rtt_us[np.triu_indices(len(rtt_us), 1)])
            apart = between.astype(float)
            np.fill_diagonal(apart, np.nan)
            violated.append(triangle_violations(apart).of_inequalities)
        for hosts, values in pairs.items():
            levels = np.percentile(np.concatenate(values), LEVELS) / 1000
            row = {"table": table, "hosts": hosts, "version": version, "networks": len(networks)}
            row |= {f"p{level}_ms": round(float(ms), 2) for level, ms in zip(LEVELS, levels, strict=True)}
            known = round(float(np.mean(violated)), 5) if hosts != "all" else ""
            found.append(row | {"violations": known})
    return found


def main() -> None:
    """Read both folders and write the table."""
    parser = argparse.ArgumentParser(description="Round trips of old and new networks.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/tables/round_trips.csv"))
    arguments = parser.parse_args()
    both = rows(arguments.old, "pairs of hosts") + rows(arguments.new, "places")
    both.sort(key=lambda row: (TABLES.index(str(row["table"])), row["hosts"] == "all"))
    write_text(arguments.out, csv_text(COLUMNS, both))


if __name__ == "__main__":
    main()
