"""Derive the sampler's tables from a folder of measurements.

In: ``--data``, a folder laid out as SOURCES.md says, which stays where it is. Out: ``latency/``,
``bandwidth/``, ``relays/`` and ``validation/`` beside this file, each with small tables of fitted parameters
or quantiles that hold no address, no fingerprint and no copy of a measurement, and ``errors.json`` with the
numbers that SOURCES.md quotes.

    python topologies/derive.py --data DIR [--only latency|bandwidth|relays|validation]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import bandwidth_tables
import latency_model
import onionperf_quantiles
import relay_populations

HERE = Path(__file__).parent
DERIVATIONS = {
    "latency": latency_model.derive,
    "bandwidth": bandwidth_tables.derive,
    "relays": relay_populations.derive,
    "validation": onionperf_quantiles.derive,
}


def main() -> None:
    """Run the derivations asked for and record their errors."""
    parser = argparse.ArgumentParser(description="Derive the sampler's tables from measurements.")
    parser.add_argument("--data", type=Path, required=True, help="folder of measurements, see SOURCES.md")
    parser.add_argument("--only", choices=DERIVATIONS, help="one kind of table instead of all")
    arguments = parser.parse_args()
    record = HERE / "errors.json"
    errors = json.loads(record.read_text()) if record.exists() else {}
    for kind in [arguments.only] if arguments.only else DERIVATIONS:
        (HERE / kind).mkdir(exist_ok=True)
        errors[kind] = DERIVATIONS[kind](arguments.data / kind, HERE / kind)
        print(json.dumps({kind: errors[kind]}, indent=1))
    record.write_text(json.dumps(errors, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
