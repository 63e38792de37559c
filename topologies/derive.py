"""Derive the sampler's tables from a folder of measurements.

In: ``--data``, a folder laid out as SOURCES.md says, which stays where it is. Out: ``latency/``,
``bandwidth/``, ``relays/``, ``countries/``, ``validation/`` and ``history/`` beside this file, each with
small tables of fitted parameters, quantiles or medians that hold no address and no fingerprint, and
``errors.json`` with the numbers that SOURCES.md quotes. KIND is one of ``DERIVATIONS``.

    python topologies/derive.py --data DIR [--only KIND]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import bandwidth_tables
import country_latency
import latency_model
import network_of_2019
import onionperf_quantiles
import relay_populations
import torperf_2009

HERE = Path(__file__).parent
DERIVATIONS = {
    "latency": ("latency", latency_model.derive),
    "countries": ("latency", country_latency.derive),
    "bandwidth": ("bandwidth", bandwidth_tables.derive),
    "relays": ("relays", relay_populations.derive),
    "network_of_2019": ("relays", network_of_2019.derive),
    "validation": ("validation", onionperf_quantiles.derive),
    "history": ("history", torperf_2009.derive),
}
"""The folder, of ``--data`` and beside this file, and the derivation of each kind of table."""


def main() -> None:
    """Run the derivations asked for and record their errors."""
    parser = argparse.ArgumentParser(description="Derive the sampler's tables from measurements.")
    parser.add_argument("--data", type=Path, required=True, help="folder of measurements, see SOURCES.md")
    parser.add_argument("--only", choices=DERIVATIONS, help="one kind of table instead of all")
    arguments = parser.parse_args()
    record = HERE / "errors.json"
    errors = json.loads(record.read_text()) if record.exists() else {}
    for kind in [arguments.only] if arguments.only else DERIVATIONS:
        folder, derive = DERIVATIONS[kind]
        (HERE / folder).mkdir(exist_ok=True)
        errors[kind] = derive(arguments.data / folder, HERE / folder)
        print(json.dumps({kind: errors[kind]}, indent=1))
    record.write_text(json.dumps(errors, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
