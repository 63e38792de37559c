"""Quantiles of what OnionPerf measured of the public network in 2019: ``onionperf-2019``.

In: a file of tornettools with every measured value. Out: a file of the same form with 200 quantiles of each
quantity in place of its values, which :mod:`torsweep.runsets.public_tor` reads like any other.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np

QUANTILES = (np.arange(200) + 0.5) / 200
_TIMES = ("circuit_build_times", "circuit_rtt")
_COUNTS = ("requests", "timeouts", "failures")


def derive(data: Path, out: Path) -> dict[str, Any]:
    """Write the file; the largest relative error of a median."""
    measured = json.loads(lzma.decompress((data / "torperf-2019.json.xz").read_bytes()))
    days = measured["daily_counts"]
    values = {name: measured[name] for name in _TIMES}
    values |= {f"download_times {size}": times for size, times in measured["download_times"].items()}
    found = {
        name: [round(float(each), 4) for each in np.quantile(of, QUANTILES)] for name, of in values.items()
    }
    document = {
        "origin": {
            "source": "OnionPerf, public network; artifact of Once is Never Enough (USENIX Security 2021)",
            "days": f"{min(days)} to {max(days)}",
            "values": {name: len(of) for name, of in values.items()},
        },
        **{name: found[name] for name in _TIMES},
        # As the artifact's parse_tor_perf.py: DATACOMPLETE less START; round trips are DATARESPONSE less
        # DATAREQUEST.
        "download_times_from": "opening",
        "download_times": {size: found[f"download_times {size}"] for size in measured["download_times"]},
        "daily_counts": {"2019": {name: sum(day[name] for day in days.values()) for name in _COUNTS}},
    }
    lines = (f" {json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    (out / "onionperf-2019.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    errors = (abs(np.median(found[name]) / np.median(of) - 1) for name, of in values.items())
    return {"onionperf-2019": {"median_error": round(float(max(errors)), 5)}}
