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
"""Of engines that run tor. What it says of processor time differs between two runs of the same run.json."""

SETTINGS_FILE = "settings.parquet"
"""Of engines that run tor: what its processes were told, and what they have."""

CELLS_FILE = "cells.parquet"
BREAKDOWN_FILE = "breakdown.parquet"
"""Of runs with ``tracing``."""

PASSAGES_FILE = "passages.parquet"
"""Of a plan's tables alone, from the cells of its runs."""

RELAY_RATES_FILE = "relay_rates.parquet"
CLIENTS_FILE = "clients.parquet"
"""Of a plan's tables alone, from the networks of its runs and what their clients did."""

LINKS_FILE = "links.parquet"
"""Of the emulation: what linkem did, second by second."""

PACKETS_FILE = "packets.parquet"
"""Of the emulation, until downloads have been followed: what passed linkem."""
