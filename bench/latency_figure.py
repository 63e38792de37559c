"""The round trips of the three latency tables side by side, as a picture for documents.

In: the tables in ``topologies/latency/`` and the quantiles of the measurements in
``topologies/errors.json``. Out: a PNG.

    python -m bench.latency_figure docs/images/latency.png
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from plotting.drawing.palette import level_name, look
from plotting.drawing.style import GREY, TEXT_WIDTH_IN, style
from torsweep.config.network import AccessDelay
from torsweep.network.exact import Floats
from torsweep.network.latency import modelled_matrix, read_model, whereabouts
from torsweep.network.model import LATENCY_FLOOR_US
from torsweep.network.places import Latencies

TOPOLOGIES = Path("topologies")
MEASURED = {"king": "embedding", "planetlab": "slice 1", "atlas-2023": "19 June 2023"}
"""The tables, and what errors.json calls the distribution that each was made from."""
_KIND_HOSTS = 400
_KINDS = ("relay", "web", "server")
_PATHS = 20_000
_SEEDS = range(1, 9)
_HEIGHT_IN = 2.6


def main(out: Path) -> None:
    """Draw both panels."""
    recorded = json.loads((TOPOLOGIES / "errors.json").read_text())["latency"]
    with style():
        figure, (pairs, circuits) = plt.subplots(
            1, 2, figsize=(TEXT_WIDTH_IN, _HEIGHT_IN), sharey=True, layout="constrained"
        )
        for name, measured in MEASURED.items():
            networks = [_network_ms(name, seed) for seed in _SEEDS]
            between = [rtt_ms[np.triu_indices(_KIND_HOSTS, 1)] for rtt_ms in networks]
            _curve(pairs, np.concatenate(between), name)
            _curve(circuits, _circuits_ms(networks), name)
            key = next(key for key in recorded[name] if key.startswith("RTT ms at"))
            levels = [float(level) / 100 for level in re.findall(r"p(\S+)", key)]
            drawn = look("latency", name)
            pairs.plot(
                recorded[name][key][measured],
                levels,
                linestyle="none",
                color=drawn.colour,
                marker=drawn.marker,
                markersize=3.5,
                fillstyle="none",
            )
        pairs.set(title="Two relays", xlabel="Round trip, ms", xlim=(0, 700), ylim=(0, 1))
        pairs.set_ylabel("Cumulative share")
        circuits.set(title="Client, three relays and a server", xlabel="Round trip, ms", xlim=(0, 1600))
        circuits.legend(loc="lower right")
        pairs.text(690, 0.03, "Markers: measured;\nfor King its embedding", ha="right", color=GREY)
        figure.savefig(out)


def _network_ms(name: str, seed: int) -> Floats:
    """RTTs (hosts, hosts) between relays, then web clients, then servers."""
    matrix_us = modelled_matrix(read_model(TOPOLOGIES / "latency" / f"{name}.npz"), seed)
    where = whereabouts(len(matrix_us), AccessDelay(), seed)
    hosts = [host for kind in _KINDS for host in where(kind, _KIND_HOSTS)]
    place, access_us = (np.array([host[key] for host in hosts]) for key in ("place", "access_us"))
    latencies = Latencies(matrix_us, place, access_us, LATENCY_FLOOR_US)
    return np.asarray(latencies.rows(0, len(hosts)) / 1000)


def _curve(axis: Axes, values_ms: Floats, name: str) -> None:
    shares = np.linspace(0, 1, 501)
    drawn = look("latency", name)
    quantiles_ms = np.quantile(values_ms, shares)
    axis.plot(quantiles_ms, shares, color=drawn.colour, linestyle=drawn.dashes, label=level_name(name))


def _circuits_ms(networks: list[Floats]) -> Floats:
    """Round trips from web clients over three relays to servers, all drawn evenly, in all networks."""
    random = np.random.default_rng(1)
    relays = np.stack([random.permutation(_KIND_HOSTS)[:3] for _ in range(_PATHS)])
    clients = _KIND_HOSTS + random.integers(0, _KIND_HOSTS, _PATHS)
    servers = 2 * _KIND_HOSTS + random.integers(0, _KIND_HOSTS, _PATHS)
    hops = np.column_stack([clients, relays, servers])
    circuits = np.concatenate([rtt_ms[hops[:, :-1], hops[:, 1:]].sum(axis=1) for rtt_ms in networks])
    print(f"circuits, ms at p10 p50 p90: {np.quantile(circuits, [0.1, 0.5, 0.9]).round()}")
    return np.asarray(circuits)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
