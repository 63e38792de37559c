"""One finished run, whoever made it.

In: a folder with run.json, provenance.json and tables, named by its variant; or what an import says of one of
its simulations (:mod:`torsweep.runsets.imported`). Out: :class:`Run`, and its tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from torsweep.config.tor_settings import Droptail
from torsweep.config.variant import variant_levels, variant_text
from torsweep.engines.run_spec import RunSpec, finished_run, read_run
from torsweep.engines.table_schema import CIRCUITS, TableSchema, validate, with_later_columns
from torsweep.errors import InputError
from torsweep.formats.frames import read_frame
from torsweep.provenance import PROVENANCE_FILE

GIVEN = "tornettools"
"""The key of the checksum of a network that tornettools made, in the provenance of a run on it."""


@dataclass(frozen=True)
class Run:
    """A finished run. ``variant`` has its level of each dimension and knob, in order; ``seed`` and
    ``network_sha256`` tell its network. ``spec`` is its run.json, which an import has none of."""

    directory: Path
    variant: Mapping[str, str]
    seed: int
    network_sha256: str
    run_sha256: str
    experiment: str
    engine: str
    engine_version: str
    era: str
    warm_up_ns: int
    duration_ns: int
    provenance: Mapping[str, Any]
    spec: RunSpec | None = None

    def __str__(self) -> str:
        return str(self.directory)

    @property
    def transport(self) -> str:
        """The TCP of a run of the model and its queue before down-links; empty for other engines."""
        transport = self.spec.transport if self.spec else None
        if transport is None:
            return ""
        queue = transport.link_queue
        size = f" of {queue.bytes:,} bytes" if isinstance(queue, Droptail) else ""
        return f"tcp={transport.tcp}, {queue.kind}{size}"


def open_run(directory: Path) -> Run:
    """The run in ``directory``.

    Raises InputError when it is not finished, has changed since, was written by another version, or stands
    in a folder that is not named by its variant.
    """
    spec, provenance = read_run(directory), finished_run(directory)
    version, variant = provenance.get("engine_version"), variant_levels(directory.name)
    if not isinstance(version, str):
        raise InputError("missing key", file=directory / PROVENANCE_FILE, key="engine_version")
    if variant != dict(spec.variant):
        accepted = variant_text(spec.variant)
        raise InputError("is not named by its variant", file=directory, accepted=accepted)
    return Run(
        directory,
        variant,
        spec.seed,
        spec.network_sha256,
        str(provenance["run_sha256"]),
        spec.experiment,
        spec.engine,
        version,
        spec.era,
        spec.warm_up_ns,
        spec.duration_ns,
        provenance,
        spec,
    )


def read_table(run_directory: Path, schema: TableSchema) -> pl.DataFrame:
    """The table of a run, warm-up and all.

    Raises InputError when it is missing, damaged, or does not fit ``schema``.
    """
    file = run_directory / schema.file
    return validate(with_later_columns(read_frame(file), schema), schema, file)


def with_paths(streams: pl.DataFrame, run_directory: Path) -> pl.DataFrame:
    """``streams`` of a run with the relays of their circuits, which may have been launched in the warm-up:
    the columns ``in_plans`` of the table."""
    columns = ["client", "circuit", "path"]
    circuits = pl.DataFrame(schema=CIRCUITS.polars).select(columns)
    if (run_directory / CIRCUITS.file).exists():
        circuits = read_frame(run_directory / CIRCUITS.file, columns)
    parts = {"guard": "^([^,]+)", "middle": "^[^,]+,(.+),[^,]+$", "exit": "([^,]+)$"}
    names = {name: pl.col("path").str.extract(pattern) for name, pattern in parts.items()}
    paths = circuits.select("client", "circuit", **names)
    return streams.join(paths, on=["client", "circuit"], how="left", maintain_order="left")
