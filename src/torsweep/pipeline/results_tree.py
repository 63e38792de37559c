"""Where everything stands under ``results/``.

In: the names that tell one result from another. Out: paths, and the names again from a path's parts.
Experiment, engine, era, network and plan each have a level of their own, so that nothing ever mixes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torsweep.config.knobs import KNOBS, find_knob
from torsweep.config.variant import JOINED_BY, Variant, variant_text
from torsweep.engines.run_spec import RUN_FILE
from torsweep.engines.table_files import (
    BREAKDOWN_FILE,
    CELLS_FILE,
    PASSAGES_FILE,
    PROGRESS_FILE,
    RELAYS_FILE,
    STREAMS_FILE,
)
from torsweep.errors import InputError
from torsweep.network.model import LATENCY_FILE, NETWORK_FILE
from torsweep.provenance import PROVENANCE_FILE

RESULTS = Path("results")

RUN_LEVELS = "{experiment}/{engine}/{era}/{network}/{seed}/{variant}"
PLAN_LEVELS = "{experiment}/{engine}/{era}/{network}/{plan}"
COMPARED_LEVELS = "{experiment}/{engines}/{era}/{network}/{plan}"
"""Levels of the tree, as wildcards of the pipeline's rules: a run's, a plan's, and those of a comparison of
engines, whose names are joined by plus signs."""

NETWORK_FILES = (NETWORK_FILE, LATENCY_FILE)
RUN_FILES = (RUN_FILE, STREAMS_FILE, RELAYS_FILE, PROGRESS_FILE, PROVENANCE_FILE)
TRACED_RUN_FILES = (*RUN_FILES, CELLS_FILE, BREAKDOWN_FILE)
TABLE_FILES = (
    STREAMS_FILE,
    RELAYS_FILE,
    PROGRESS_FILE,
    PASSAGES_FILE,
    BREAKDOWN_FILE,
    PROVENANCE_FILE,
)
"""What stands in the folder of a network, of a run, of a run that traces, and of a plan's
tables."""


def named_files(folder: str, files: Iterable[str]) -> dict[str, str]:
    """``files`` in ``folder``, by the names that rules give them: the files' own without endings."""
    return {Path(name).stem: f"{folder}/{name}" for name in files}


def network_key(name: str, variant: Variant) -> str:
    """The network of ``variant``: ``paper``, or ``paper+load=0.5`` where a knob changes the network."""
    return JOINED_BY.join(filter(None, (name, variant_text(variant.network_levels))))


def parse_network_key(key: str) -> tuple[str, Mapping[str, object]]:
    """The name in ``paper+load=0.5`` and what its knobs set in the network's configuration.

    Raises InputError when a knob is not one of the network, or its level is no level.
    """
    name, *parts = key.split(JOINED_BY)
    overrides: dict[str, object] = {}
    for part in parts:
        knob, _, level = part.partition("=")
        if find_knob(knob).target != "network":
            accepted = ", ".join(other.name for other in KNOBS.values() if other.target == "network")
            raise InputError("does not change the network", key=key, value=knob, accepted=accepted)
        overrides.update(find_knob(knob).read(level))
    return name, overrides


def network_directory(key: str, seed: int | str) -> Path:
    """Where the network of this configuration and seed stands."""
    return RESULTS / "networks" / key / str(seed)


@dataclass(frozen=True)
class Place:
    """What tells the results of one plan from those of another; the fields are levels of the tree."""

    experiment: str
    engine: str
    era: str
    network: str
    plan: str

    def stage(self, stage: str) -> Path:
        """The folder of a stage after the runs: tables, summaries, figures or publish."""
        return RESULTS / stage / self.experiment / self.engine / self.era / self.network / self.plan

    @property
    def page(self) -> Path:
        """The plan's results as a page to read."""
        return self.stage("reports") / f"{self.experiment}.html"

    @property
    def bundle(self) -> Path:
        """The plan's published result as one file."""
        return self.stage("bundles") / f"{self.experiment}.zip"

    def run_directory(self, variant: Variant, seed: int | str) -> Path:
        """The folder of one run. Plans share it: a variant is the same run in every plan that has it."""
        runs = RESULTS / "runs" / self.experiment / self.engine / self.era
        return runs / network_key(self.network, variant) / str(seed) / variant.key
