"""The round trips of the three latency tables side by side, as a picture for documents.

In: the tables in ``latency/`` and the quantiles of the measurements in ``errors.json``. Out: a PNG.

    python topologies/latency_figure.py docs/images/latency.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from latency_statistics import LEVELS, QUANTILES, generated, upper_triangle
from matplotlib.axes import Axes

from plotting.palette import level_name, look
from plotting.style import GREY, TEXT_WIDTH_IN, style
from torsweep.config.network import AccessDelay
from torsweep.network.coordinates import read_model
from torsweep.network.exact import Floats
from torsweep.network.latency import KINDS, access_round_trips

HERE = Path(__file__).parent
MEASURED = {"king": "embedding", "planetlab": "slice 1", "atlas-2023": "19 June 2023"}
"""The tables, and what errors.json calls the measurement behind each."""
_HOSTS = 1000
_PATHS = 20_000
_HEIGHT_IN = 2.6


def main(out: Path) -> None:
    """Draw both panels."""
    recorded = json.loads((HERE / "errors.json").read_text())["latency"]
    with style():
        figure, (pairs, circuits) = plt.subplots(
            1, 2, figsize=(TEXT_WIDTH_IN, _HEIGHT_IN), sharey=True, layout="constrained"
        )
        for name, measured in MEASURED.items():
            rtt_us = generated(read_model(HERE / "latency" / f"{name}.npz"), _HOSTS)
            _curve(pairs, upper_triangle(rtt_us) / 1000, name)
            quantiles_ms = recorded[name][QUANTILES][measured]
            drawn = look(name)
            pairs.plot(
                quantiles_ms, LEVELS, drawn.marker, color=drawn.colour, markersize=3.5, fillstyle="none"
            )
            _curve(circuits, _circuits_us(rtt_us) / 1000, name)
        pairs.set(title="Two hosts without a last mile", xlabel="Round trip, ms", xlim=(0, 700))
        pairs.set(ylabel="Share of the pairs, of the paths", ylim=(0, 1))
        circuits.set(title="Client, three relays and a server", xlabel="Round trip, ms", xlim=(0, 1600))
        circuits.legend(loc="lower right")
        pairs.text(690, 0.03, "markers: measured,\nfor King its embedding", ha="right", color=GREY)
        figure.savefig(out)


def _curve(axis: Axes, values_ms: Floats, name: str) -> None:
    ordered = np.sort(values_ms)[:: max(1, len(values_ms) // 500)]
    drawn = look(name)
    shares = np.arange(len(ordered)) / len(ordered)
    axis.plot(ordered, shares, color=drawn.colour, linestyle=drawn.dashes, label=level_name(name))


def _circuits_us(rtt_us: Floats) -> Floats:
    """Round trips from client to server over three relays, all drawn evenly; the client has a last mile."""
    random = np.random.default_rng(1)
    hosts = np.stack([random.permutation(len(rtt_us))[:5] for _ in range(_PATHS)], axis=1)
    counts = dict.fromkeys(KINDS, 0) | {"web": _PATHS}
    last_mile_us = access_round_trips(counts, AccessDelay(), seed=1)
    return np.asarray(rtt_us[hosts[:-1], hosts[1:]].sum(axis=0) + last_mile_us)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
