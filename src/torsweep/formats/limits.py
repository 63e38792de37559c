"""How large, how deep and how many: what the readers of :mod:`torsweep.formats` accept at most.

Sizes are bytes. Each limit is far above what torsweep writes or a published data set holds, and low enough
that a file at the limit is read in seconds and in less than a gigabyte, where nothing else is said.
"""

from __future__ import annotations

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

MOST_YAML_BYTES = 256 * KIB
"""A configuration file; those that torsweep ships have less than 6 KiB."""

MOST_YAML_DEPTH = 32
MOST_YAML_VALUES = 20_000
"""Values of a YAML file, each alias counted with all that it stands for."""

MOST_JSON_BYTES = 64 * MIB
"""A network of 30,000 hosts has 6 MiB, tornettools' relays of a month about 10 MiB."""

MOST_JSON_DEPTH = 64

MOST_INTEGER = 2**63 - 1
"""The largest whole number of a JSON file: that of a signed integer of 64 bits."""

MOST_ARRAY_BYTES = 4 * GIB
"""A NumPy array: the latencies of 30,000 hosts have 3.6 GB, and are mapped, not read."""

MOST_ARRAY_DIMENSIONS = 3

MOST_ARCHIVE_ARRAYS = 64
MOST_ARCHIVE_BYTES = 2 * GIB
"""All arrays of an npz file, unpacked: a matrix of 20,000 measured hosts has 1.6 GB."""

MOST_TEXT_BYTES = 2 * GIB
"""A text that is read line by line, unpacked."""

MOST_WHOLE_TEXT_BYTES = 256 * MIB
"""A text that has to be held as a whole: a consensus has 3 MiB, its server descriptors 30 MiB."""

MOST_LINE_CHARACTERS = 4 * MIB
"""A line of text: a row of 20,000 latencies has less than 300 KiB."""

MOST_CELL_CHARACTERS = 10_000
"""A cell of a CSV file."""

MOST_CSV_BYTES = 512 * MIB
"""A CSV file of torsweep's own."""

MOST_PARQUET_BYTES = 16 * GIB

MOST_PICTURE_BYTES = 16 * MIB
"""A figure: torsweep's have less than 0.5 MiB."""

MOST_BUNDLE_BYTES = 2 * GIB
MOST_BUNDLE_FILES = 10_000
"""A published result: refill_sweep's has about 60 files and 30 MiB."""

MOST_SOURCE_BYTES = 2 * GIB
MOST_SOURCE_FILES = 50_000
"""What a tarball of source may unpack to; tor 0.4.9 has 40 MiB in 2,200 files."""
