"""The network `live` at several scales: what its relays can write, and what its clients ask for.

    python -m bench.live_scale docs/tables/live_scale.csv

In: configs/networks/live.yaml. Out: a row for each scale, with means over the seeds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean

from bench.writing import csv_text
from torsweep.config.experiment import load_experiment
from torsweep.config.network import load_network_config
from torsweep.network.describe import describe
from torsweep.network.load import RELAY_BYTES_PER_CLIENT_BYTE
from torsweep.network.sampling import sample_network
from torsweep.storage import write_text

SCALES = ("0.003", "0.01", "0.03", "0.1", "0.3", "1")
SEEDS = (1, 2, 3)
TRAFFIC = "scheduler_choice"
BYTES_PER_GBIT = 1e9 / 8


def row(scale: str) -> dict[str, object]:
    """Counts, Gbit/s, and what clients ask for over what relays can write: mean, least and most."""
    config, traffic = load_network_config("live", {"scale": scale}), load_experiment(TRAFFIC).traffic
    usable, shares = [], []
    for seed in SEEDS:
        sampled = sample_network(config, seed)
        found = describe(sampled.network, sampled.latencies, traffic)
        usable.append(sum(position.usable_bytes_per_s for position in found.positions.values()))
        asked = sum(offered.bytes_per_s for offered in found.load.values())
        shares.append(RELAY_BYTES_PER_CLIENT_BYTE * asked / usable[-1])
    return {
        "scale": scale,
        "relays": config.relay_count,
        **{name: position.relays for name, position in found.positions.items()},
        "clients": config.client_count,
        "servers": config.server_count,
        "usable_gbit_s": round(fmean(usable) / BYTES_PER_GBIT, 3),
        "usable_of_part": round(fmean(usable) / BYTES_PER_GBIT / float(scale), 1),
        "share": round(fmean(shares), 4),
        "share_least": round(min(shares), 4),
        "share_most": round(max(shares), 4),
    }


if __name__ == "__main__":
    rows = [row(scale) for scale in SCALES]
    write_text(Path(sys.argv[1]), csv_text(list(rows[0]), rows))
