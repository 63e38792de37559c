"""The files of tables, by name: what an engine leaves in a run's folder, and what is collected of a plan.

They are not with the columns (:mod:`torsweep.engines.table_schema`), so that the pipeline can name files
without loading what reads them.
"""

STREAMS_FILE = "streams.parquet"
RELAYS_FILE = "relays.parquet"
PROGRESS_FILE = "progress.parquet"

CIRCUITS_FILE = "circuits.parquet"
RECEIVED_FILE = "received.parquet"
WIRE_FILE = "wire.parquet"
ROUND_TRIPS_FILE = "round_trips.parquet"

COSTS_FILE = "costs.parquet"
"""Written by engines that run tor. Processor times in it differ between two runs of one run.json."""

SETTINGS_FILE = "settings.parquet"
"""Written by engines that run tor: what its processes were told, and what they have."""

CELLS_FILE = "cells.parquet"
BREAKDOWN_FILE = "breakdown.parquet"
"""Written by runs with ``tracing``."""

PASSAGES_FILE = "passages.parquet"
"""Part of a plan's tables alone, made from the cells of its runs."""

RELAY_RATES_FILE = "relay_rates.parquet"
CLIENTS_FILE = "clients.parquet"
"""Part of a plan's tables alone, made from the networks of its runs and what their clients did."""

LINKS_FILE = "links.parquet"
"""Written by the emulation: what linkem did, second by second."""

PACKETS_FILE = "packets.parquet"
"""Written by the emulation, until downloads have been followed: what passed linkem."""
